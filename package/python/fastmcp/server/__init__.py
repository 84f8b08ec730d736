"""A server of FastMCP, whose definitions are those of the servlet."""

import re
import warnings
from annotationlib import Format, get_annotations
from collections.abc import Callable, Mapping, Sequence, Set
from dis import get_instructions
from itertools import pairwise
from types import CodeType, SimpleNamespace
from typing import Any, Literal, overload

import edge_servlets as kit
from edge_servlets import Context as Context
from edge_servlets._context import context
from edge_servlets._definitions import definitions, is_method, name_given
from edge_servlets._errors import DefinitionError, place_of

from .._lacks import CONTEXT, HARMLESS, OPTIONS, SERVER, lacking

type _Function = Callable[..., Any]
type _Meta = dict[str, Any]


class Tool:
    """A function for `mcp.add_tool`, with what makes it a tool."""

    def __init__(self, fn: _Function, options: dict[str, Any]) -> None:
        self.fn = fn
        self.options = options

    @classmethod
    def from_function(cls, fn: _Function, **options: Any) -> Tool:
        return cls(fn, options)


class TextResource:
    """A text for `mcp.add_resource`."""

    def __init__(self, uri: object, text: str, **options: Any) -> None:
        self.uri = str(uri)
        self.text = text
        self.options = {"name": self.uri, **options}


class PromptReference(SimpleNamespace):
    """The prompt, as `name`, of which an argument is completed."""


class ResourceTemplateReference(SimpleNamespace):
    """The template, as `uri`, of which a variable is completed."""


class FastMCP:
    """All servers of a servlet are one: their names are for their readers."""

    def __init__(
        self,
        name: str | None = None,
        instructions: str | None = None,
        *,
        tools: Sequence[Tool | _Function] | None = None,
        mask_error_details: bool | None = None,
        **options: Any,
    ) -> None:
        self.name = name or "FastMCP"
        self.instructions = instructions
        if instructions:
            warnings.warn(
                "`instructions` of a server are not sent: say it in the descriptions of tools, or as a skill.",
                stacklevel=2,
            )
        for option, value in options.items():
            is_known = option in HARMLESS or (not value and option in SERVER)
            if value is not None and not is_known:
                raise DefinitionError(lacking(f"`FastMCP({option}=…)`", SERVER.get(option)))
        if mask_error_details:
            definitions.masks_errors = True
        for one in tools or ():
            self.add_tool(one)

    @overload
    def tool[F: _Function](self, name_or_fn: F, /) -> F: ...
    @overload
    def tool[F: _Function](
        self,
        name_or_fn: str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        tags: Set[str] | None = None,
        icons: Sequence[kit.Icon] | None = None,
        annotations: kit.ToolAnnotations | Mapping[str, Any] | None = None,
        meta: _Meta | None = None,
        task: bool | None = None,
        enabled: bool = True,
    ) -> Callable[[F], F]: ...
    @overload
    def tool[F: _Function](
        self, name_or_fn: F, /, *, name: str | None = None, **options: Any
    ) -> F: ...
    def tool(
        self,
        name_or_fn: Any = None,
        /,
        **options: Any,
    ) -> Any:
        """Makes a function a tool: see `edge_servlets.tool`."""
        return _tool(name_or_fn, **options)

    def resource[F: _Function](
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        tags: Set[str] | None = None,
        icons: Sequence[kit.Icon] | None = None,
        annotations: kit.Annotations | Mapping[str, Any] | None = None,
        meta: _Meta | None = None,
        enabled: bool = True,
        **options: Any,
    ) -> Callable[[F], F]:
        """Makes a function a resource, or with a URI template resources of this form: see `edge_servlets.resource`."""
        if not isinstance(uri, str):
            raise DefinitionError(
                f'{place_of(uri)}a resource needs a URI: @mcp.resource("scheme://…").'
            )
        known = dict(
            title=title,
            description=description,
            mime_type=mime_type,
            icons=icons,
            annotations=annotations,
            meta=meta,
        )
        options = {**{key: value for key, value in known.items() if value is not None}, **options}
        # RFC 6570 has no slashes in such a variable.
        uri = re.sub(r"\{(\w+)\*\}", r"{+\1}", uri)
        return _defined(
            "resource",
            lambda name=None, **more: kit.resource(uri, name=name, **more),
            None,
            name,
            tags,
            enabled,
            options,
        )

    @overload
    def prompt[F: _Function](self, name_or_fn: F, /) -> F: ...
    @overload
    def prompt[F: _Function](
        self,
        name_or_fn: str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        tags: Set[str] | None = None,
        icons: Sequence[kit.Icon] | None = None,
        meta: _Meta | None = None,
        enabled: bool = True,
    ) -> Callable[[F], F]: ...
    @overload
    def prompt[F: _Function](
        self, name_or_fn: F, /, *, name: str | None = None, **options: Any
    ) -> F: ...
    def prompt(
        self,
        name_or_fn: Any = None,
        /,
        *,
        name: str | None = None,
        tags: Set[str] | None = None,
        enabled: bool = True,
        **options: Any,
    ) -> Any:
        """Makes a function a prompt: see `edge_servlets.prompt`."""
        return _defined("prompt", kit.prompt, name_or_fn, name, tags, enabled, options)

    def completion(self, handler: Any = None) -> Any:
        """Has a function complete arguments: it is given the prompt or template, the argument and the others."""

        def define(function: _Function) -> _Function:
            definitions.complete = lambda ref, argument, others: function(
                (PromptReference if "name" in ref else ResourceTemplateReference)(**ref),
                SimpleNamespace(**argument),
                SimpleNamespace(arguments=others),
            )
            return function

        return define if handler is None else define(handler)

    def get_context(self) -> Context:
        """The context of the call that runs."""
        return context

    def add_tool(self, function: Tool | _Function, name: str | None = None, **options: Any) -> Any:
        """Makes a function a tool, unless a decorator has; also one of `Tool.from_function`, and a method of an object."""
        if isinstance(function, Tool):
            function, given = function.fn, function.options
        else:
            given = getattr(function, "__tool__", {})
        options = {**given, **options, **({} if name is None else {"name": name})}
        if not options and any(one.function is function for one in definitions.tools.values()):
            return function
        return _tool(function, **options)

    def add_prompt[F: _Function](self, function: F, **options: Any) -> F:
        return self.prompt(function, **options)

    def add_resource(self, resource: TextResource) -> TextResource:
        if not isinstance(resource, TextResource):
            kind = type(resource).__name__
            raise DefinitionError(
                lacking(f"`mcp.add_resource({kind})`", "use `@mcp.resource(URI)`")
            )
        self.resource(resource.uri, **resource.options)(lambda: resource.text)
        return resource

    def run(
        self,
        transport: Literal["stdio", "http", "sse", "streamable-http"] | None = None,
        **options: Any,
    ) -> None:
        """Does nothing: the server that has this servlet runs."""

    async def run_async(self, transport: str | None = None, **options: Any) -> None: ...

    run_stdio_async = run_http_async = run_sse_async = run_streamable_http_async = run_async

    def __getattr__(self, name: str) -> Any:
        if name in SERVER:
            raise DefinitionError(lacking(f"`mcp.{name}`", SERVER[name]))
        raise AttributeError(lacking(f"`mcp.{name}`", None))


def tool(name_or_fn: Any = None, /, **options: Any) -> Any:
    """Makes a function a tool. A method becomes one by `mcp.add_tool(OBJECT.METHOD)`."""
    given = name_given("tool", name_or_fn)
    if given is not None:
        options["name"] = given

    def define(function: Any) -> Any:
        if is_method(function):
            function.__tool__ = options
            return function
        return _tool(function, **options)

    return define(name_or_fn) if callable(name_or_fn) else define


def _tool(
    name_or_fn: Any,
    *,
    name: str | None = None,
    tags: Set[str] | None = None,
    task: bool | None = None,
    enabled: bool = True,
    **options: Any,
) -> Any:
    if task is not None:
        options["task"] = "optional" if task else "forbidden"
    return _defined("tool", kit.tool, name_or_fn, name, tags, enabled, options)


def _defined(
    kind: str,
    define: Any,
    name_or_fn: Any,
    name: str | None,
    tags: Set[str] | None,
    enabled: bool,
    options: dict[str, Any],
) -> Any:
    """Defines a function by the kit's decorator, or gives a decorator that does."""
    for option in [*options]:
        if option in OPTIONS and options.pop(option) is not None:
            raise DefinitionError(lacking(f"`@mcp.{kind}({option}=…)`", OPTIONS[option]))
    if tags:
        options["meta"] = {**(options.get("meta") or {}), "fastmcp": {"tags": sorted(tags)}}
    given = name_given(kind, name_or_fn)

    def decorate(function: _Function) -> _Function:
        _demand_known(function)
        return define(name or given, **options)(function) if enabled else function

    return decorate(name_or_fn) if callable(name_or_fn) else decorate


def _demand_known(function: _Function) -> None:
    """Raises a `DefinitionError` where a function uses what the context lacks."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return
    contexts = [
        name
        for name, hint in get_annotations(function, format=Format.STRING).items()
        if "Context" in hint
    ]
    for loaded, used in pairwise(get_instructions(code)):
        names = loaded.argval if isinstance(loaded.argval, tuple) else (loaded.argval,)
        if used.opname == "LOAD_ATTR" and used.argval in CONTEXT and names[-1] in contexts:
            line = used.positions.lineno if used.positions else code.co_firstlineno
            place = f"{code.co_filename}:{line}: "
            raise DefinitionError(
                place + lacking(f"`{names[-1]}.{used.argval}`", CONTEXT[used.argval])
            )
