"""What a servlet defines, and the decorators that define it."""

from annotationlib import Format
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import signature
from typing import Any, Literal, TypedDict, overload

from ._content import Annotations, Icon, Json, some
from ._errors import DefinitionError, place_of

type Function = Callable[..., Any]


class ToolAnnotations(TypedDict, total=False):
    """Hints for the client about a tool, which it must not rely on."""

    title: str
    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class ViewCsp(TypedDict, total=False):
    """Origins, such as `https://cdn.example.com`, that a view may load from or be framed by."""

    connectDomains: Sequence[str]
    resourceDomains: Sequence[str]
    frameDomains: Sequence[str]
    baseUriDomains: Sequence[str]


type Task = Literal["forbidden", "optional", "required"]
"""Whether a tool may be, or must be, run as a task."""


class ListedResource(TypedDict, total=False):
    """A resource as a template lists it. `size` is in bytes."""

    uri: str
    name: str
    title: str
    description: str
    mimeType: str
    size: int


@dataclass
class Definition:
    """A function, and what its decorator says of it; `listed` are the members of its list entry that it gives."""

    function: Function
    key: str
    """The name of a tool or prompt, the URI or URI template of a resource."""
    listed: Json
    complete: Mapping[str, Function] = field(default_factory=dict[str, Function])
    lists: Function | None = None
    view: str | None = None
    visibility: Sequence[str] | None = None
    description: str | None = None


class Definitions:
    """All that the servlet defines."""

    def __init__(self) -> None:
        self.tools: dict[str, Definition] = {}
        self.resources: dict[str, Definition] = {}
        self.prompts: dict[str, Definition] = {}
        self.webhooks: dict[str, Definition] = {}
        self.views: dict[str, Json] = {}
        self.declared: dict[str, dict[str, Json]] = {}
        """Other members of the manifest, by name, and their entries."""
        self.schedules: dict[str, Definition] = {}
        self.roots_changed: Function | None = None
        self.complete: Function | None = None
        """Answers completions that no definition answers: of FastMCP."""
        self.masks_errors = False
        """Whether callers learn nothing of unexpected exceptions: of FastMCP."""

    def add(self, kind: Literal["tool", "resource", "prompt", "schedule"], made: Definition) -> None:
        group: dict[str, Definition] = getattr(self, f"{kind}s")
        other = group.get(made.key)
        if other is not None:
            before = place_of(other.function).removesuffix(": ")
            raise DefinitionError(
                f'{place_of(made.function)}there is another {kind} "{made.key}", at {before}.'
            )
        group[made.key] = made


definitions = Definitions()


def is_method(function: Any) -> bool:
    """True for a function of a class, whose first parameter is the object or the class."""
    parameters = signature(function, annotation_format=Format.FORWARDREF).parameters
    first = next(iter(parameters.values()), None)
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    return (
        first is not None
        and first.name in ("self", "cls")
        and first.annotation is first.empty
        and owner != ""
        and not owner.endswith("<locals>")
    )


def name_given(kind: str, given: Any) -> str | None:
    """The name that a decorator is given, or None where it is given the function itself."""
    if isinstance(given, classmethod):
        own = given.__name__
        raise DefinitionError(
            f"{place_of(given.__func__)}`@{kind}` above `@classmethod` has no class yet. Leave it out, and call it below the class, "
            f"as in `{kind}(CLASS.{own})`."
        )
    if callable(given):
        return None
    if given is not None and not isinstance(given, str):
        raise DefinitionError(f'this {kind} needs a name: @{kind}("NAME").')
    return given


def _name_of(function: Function, given: str | None, kind: str) -> str:
    name = given or getattr(function, "__name__", "")
    if not isinstance(name, str) or name in ("", "<lambda>"):
        raise DefinitionError(f'{place_of(function)}this {kind} needs a name: @{kind}("NAME").')
    return name


@overload
def tool[F: Function](name: F, /) -> F: ...
@overload
def tool[F: Function](
    name: str | None = None,
    *,
    title: str | None = None,
    description: str | None = None,
    annotations: ToolAnnotations | None = None,
    icons: Sequence[Icon] | None = None,
    meta: Json | None = None,
    task: Task | None = None,
    view: str | None = None,
    visibility: Sequence[Literal["model", "app"]] | None = None,
) -> Callable[[F], F]: ...
def tool(
    name: Any = None,
    *,
    title: str | None = None,
    description: str | None = None,
    annotations: ToolAnnotations | None = None,
    icons: Sequence[Icon] | None = None,
    meta: Json | None = None,
    task: Task | None = None,
    view: str | None = None,
    visibility: Sequence[Literal["model", "app"]] | None = None,
) -> Any:
    """Makes a function a tool: its name, its docstring, and the type hints of its parameters and its result describe it.

    `view` is the view that shows its results. `visibility` says who may call it: models, the servlet's views ("app"), or both,
    which is the default.

    Example:
        @tool
        def add(a: float, b: float) -> float:
            "Adds two numbers."
            return a + b
    """

    def define(function: Function) -> Function:
        execution = task and {"taskSupport": task}
        listed = some(
            title=title, annotations=annotations, icons=icons, execution=execution, _meta=meta
        )
        made = Definition(
            function, _name_of(function, given, "tool"), listed, description=description
        )
        made.view, made.visibility = view, visibility
        definitions.add("tool", made)
        return function

    given = name_given("tool", name)
    return define(name) if callable(name) else define


def resource[F: Function](
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    size: int | None = None,
    icons: Sequence[Icon] | None = None,
    annotations: Annotations | None = None,
    meta: Json | None = None,
    complete: Mapping[str, Function] | None = None,
    list: Function | None = None,
) -> Callable[[F], F]:
    """Makes a function a resource; with a URI template (RFC 6570), whose variables are its parameters, resources of this form.

    It returns a text, bytes, `ResourceContents` or a list of these; anything else becomes JSON. `complete` has a function by
    variable: it is given the value so far, and the other variables if it takes them, and returns texts. `list` returns the
    resources of this form that there are now, as `[{"uri": …, "name": …}]`; the manifest then needs `"lists": "dynamic"`.

    Example:
        @resource("weather://{city}/now")
        def weather(city: str) -> str: ...
    """
    if not isinstance(uri, str):
        raise DefinitionError(f'{place_of(uri)}a resource needs a URI: @resource("scheme://…").')

    def define(function: F) -> F:
        listed = some(
            title=title,
            mimeType=mime_type,
            size=size,
            icons=icons,
            annotations=annotations,
            _meta=meta,
        )
        listed = {"name": _name_of(function, name, "resource"), **listed}
        definitions.add(
            "resource",
            Definition(function, uri, listed, complete or {}, list, description=description),
        )
        return function

    return define


@overload
def prompt[F: Function](name: F, /) -> F: ...
@overload
def prompt[F: Function](
    name: str | None = None,
    *,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Icon] | None = None,
    meta: Json | None = None,
    complete: Mapping[str, Function] | None = None,
) -> Callable[[F], F]: ...
def prompt(
    name: Any = None,
    *,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Icon] | None = None,
    meta: Json | None = None,
    complete: Mapping[str, Function] | None = None,
) -> Any:
    """Makes a function a prompt: its parameters are the prompt's arguments. It returns a text of the user, or messages.

    `complete` has a function by argument, as in `resource`; of an argument whose type is a Literal or an Enum, it is there.

    Example:
        @prompt
        def review(title: str, tone: Literal["kind", "strict"] = "kind") -> str:
            return f"Write a {tone} review of {title}."
    """

    def define(function: Function) -> Function:
        listed = some(title=title, icons=icons, _meta=meta)
        key = _name_of(function, given, "prompt")
        definitions.add(
            "prompt", Definition(function, key, listed, complete or {}, description=description)
        )
        return function

    given = name_given("prompt", name)
    return define(name) if callable(name) else define


def view(
    name: str,
    file: str,
    *,
    title: str | None = None,
    description: str | None = None,
    csp: ViewCsp | None = None,
    permissions: Sequence[Literal["camera", "microphone", "geolocation", "clipboardWrite"]]
    | None = None,
    prefers_border: bool | None = None,
) -> str:
    """Defines a view: a page that clients show for the results of tools that name it. Returns its name.

    `file` is beside the servlet's: an HTML document (`.html`), or a script (`.tsx`, `.ts`), of which a page is made.

    Example:
        board = view("board", "./board.tsx", title="Task board")

        @tool(view=board)
        def tasks() -> list[Task]: ...
    """
    more = some(
        title=title,
        description=description,
        csp=csp,
        permissions=permissions,
        prefersBorder=prefers_border,
    )
    if name in definitions.views:
        raise DefinitionError(f'There is another view "{name}".')
    definitions.views[name] = {"file": file, **more, "tools": []}
    return name


@overload
def scheduled[F: Function](
    *, cron: str, time_zone: str | None = None, name: str | None = None
) -> Callable[[F], F]: ...
@overload
def scheduled[F: Function](*, every: timedelta, name: str | None = None) -> Callable[[F], F]: ...
def scheduled(
    *,
    cron: str | None = None,
    time_zone: str | None = None,
    every: timedelta | None = None,
    name: str | None = None,
) -> Any:
    """Has a function called at set times, as `servlet:NAME`. An operator answers what it asks.

    `cron` has minute, hour, day of the month, month and day of the week, in `time_zone` (an IANA name; UTC by default); `every` is at
    least a minute. The function may take `due: datetime`, when it was due, and `missed: int`, how many earlier due times it makes up
    for. What it returns is the result of the run, which operators see.

    Example:
        @scheduled(cron="0 8 * * 1-5", time_zone="Europe/Berlin")
        async def digest(ctx: Context, missed: int) -> str:
            return f"Good morning, {missed} were missed."
    """

    def define(function: Function) -> Function:
        key = _name_of(function, name, "schedule")
        definitions.add("schedule", Definition(function, key, {}))
        period = None if every is None else round(every / timedelta(milliseconds=1))
        entries = definitions.declared.setdefault("schedules", {})
        entries[key] = some(cron=cron, timeZone=time_zone, every=period)
        return function

    return define


def roots_changed[F: Function](function: F) -> F:
    """Has a function called when the client's roots have changed."""
    definitions.roots_changed = function
    return function
