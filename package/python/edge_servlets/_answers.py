"""The exports of a servlet, each as a function from its input to its output as JSON."""

import re
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from contextlib import contextmanager
from datetime import datetime
from inspect import Parameter, isasyncgenfunction, isawaitable, isgeneratorfunction, signature
from types import UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Never,
    NoReturn,
    TypeAliasType,
    Union,
    get_args,
    get_origin,
)

from ._content import (
    Content,
    Json,
    Output,
    ResourceContents,
    ToolResult,
    failed,
    prompt_result,
    read_result,
    some,
    tool_result,
)
from ._context import Context, context
from ._definitions import Definition, Definitions, Function, definitions, is_method
from ._docs import docs_of
from ._drive import settled
from ._errors import (
    INVALID_PARAMS,
    AskError,
    DefinitionError,
    RpcError,
    ToolError,
    leaves_of,
    message_of,
    place_of,
    trace_of,
)
from ._host import ERROR, log, running
from ._json import encode_of
from ._schema import (
    MISSING,
    Convert,
    Member,
    Mismatch,
    Shape,
    Shapes,
    default_of,
    described,
    from_text,
    hints_of,
    is_field,
)
from ._templates import Match, template
from ._webhooks import request_of

type Answer = Callable[[Json], str]


def answers_of(defined: Definitions) -> dict[str, Answer]:
    """The exports by name. Raises a `DefinitionError` where something cannot be served."""
    answers: dict[str, Answer] = {}
    if defined.tools:
        answers.update(_tool_answers(defined))
    completers: dict[str, dict[str, Function]] = {}
    if defined.resources:
        answers.update(_resource_answers(defined, completers))
    if defined.prompts:
        answers.update(_prompt_answers(defined, completers))
    if completers or defined.complete:
        answers["complete"] = _completion(completers, defined.complete)
    if defined.schedules:
        answers["run_schedule"] = _run_schedule(defined)
    if defined.webhooks:
        answers["receive_webhook"] = _webhook_answer(defined)
    if changed := defined.roots_changed:
        answers["on_roots_list_changed"] = _telling(_Signature(changed, Shapes()).caller())
    return answers


def _telling(call: Callable[[Json], Any]) -> Answer:
    """Calls a function whose result nobody gets."""

    def tell(_input: Json) -> str:
        settled(call({}))
        return ""

    return tell


def _run_schedule(defined: Definitions) -> Answer:
    """Calls the function of the schedule that is due, with what it takes of the due time."""
    calls: dict[str, tuple[Callable[[Json], Any], list[str]]] = {}
    for name, definition in defined.schedules.items():
        with _defining("the schedule", definition.function, name):
            taken = _Signature(definition.function, Shapes())
            for member in taken.members:
                if member not in ("due", "missed"):
                    raise DefinitionError(f"it takes `{member}`: only `due` and `missed` are given.")
            calls[name] = (taken.caller(), list(taken.members))
    result = tool_result("free", None, "the schedule")

    def run_schedule(given: Json) -> str:
        request = given["request"]
        name = request["name"]
        if name not in calls:
            raise RpcError(INVALID_PARAMS, f'There is no schedule "{name}".')
        running.what = f'The schedule "{name}"'
        call, names = calls[name]
        time = {"due": datetime.fromisoformat(request["due"]), "missed": request["missed"]}
        return result(settled(call({one: time[one] for one in names})))

    return run_schedule


def _listing(kind: str, entries: list[Json]) -> Answer:
    """A list's output, written once."""
    output = encode_of({kind: entries}, f"The list of {kind}")
    return lambda _input: output


class _Signature:
    """The parameters of a function, as a caller fills them."""

    def __init__(self, function: Function, shapes: Shapes) -> None:
        if isasyncgenfunction(function):
            raise DefinitionError("it is an async generator. Return a list.")
        if is_method(function):
            raise DefinitionError(
                "it is a method, and a call has no object for it. Leave the decorator out, and call it below the class, "
                f"as in `tool(OBJECT.{function.__name__})`."
            )
        # Where it yields several values, they are its result.
        self.function = (
            (lambda **arguments: list(function(**arguments)))
            if isgeneratorfunction(function)
            else function
        )
        self.members: dict[str, Member] = {}
        self.hints = hints_of(
            function if hasattr(function, "__annotations__") else type(function).__call__
        )
        parameters = signature(function).parameters
        self.docs = docs_of(function.__doc__, parameters)
        self._contexts: dict[str, Context] = {}
        self._makes: dict[str, Callable[[], Any]] = {}
        """What each call makes of parameters that it is not given."""
        for name, parameter in parameters.items():
            hint = self.hints.get(name, Any)
            if Context in (hint, *get_args(hint)) or isinstance(parameter.default, Context):
                self._contexts[name] = context
                continue
            # That of FastMCP's second names.
            if type(parameter.default).__name__ == "Depends":
                self._makes[name] = parameter.default.call
                continue
            try:
                self.members[name] = self._member(parameter, hint, shapes)
            except DefinitionError as error:
                raise DefinitionError(f"the parameter `{name}`: {error}") from None

    def _member(self, parameter: Parameter, hint: Any, shapes: Shapes) -> Member:
        if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise DefinitionError(
                "a caller gives arguments by name, so that *, ** and / cannot be used. Name each parameter."
            )
        shape, default = shapes.of(hint), parameter.default
        if is_field(default):
            shape = described(shape, default)
            said = [default]
        else:
            said = [one for one in getattr(hint, "__metadata__", ()) if is_field(one)]
            if default is not Parameter.empty:
                return Member(shape, False, default)
        for field in said:
            made = default_of(field)
            make = getattr(field, "default_factory", None) if made is MISSING else lambda: made
            if make is not None:
                self._makes[parameter.name] = make
                return Member(shape, False, made)
        return Member(shape, True)

    def describe(self) -> None:
        """Adds descriptions from the docstring to parameters that have none."""
        for name, (shape, is_needed, default) in self.members.items():
            if name in self.docs.parameters and "description" not in shape.schema:
                shape = described(shape, self.docs.parameters[name])
                self.members[name] = Member(shape, is_needed, default)

    def caller(self) -> Callable[[Json], Any]:
        """A function that calls with these arguments."""
        function, more = self.function, {**self._contexts}
        if self._makes:
            makes = self._makes

            def call(arguments: Json) -> Any:
                made: Json = {}
                for name, make in makes.items():
                    if name in arguments:
                        continue
                    made[name] = make()
                    if isawaitable(made[name]):
                        return later(made, arguments)
                return function(**made, **arguments, **more)

            async def later(made: Json, arguments: Json) -> Any:
                # One after the other: if one fails, none is left that nobody awaits.
                for name, make in makes.items():
                    if name in arguments:
                        continue
                    one = made[name] if name in made else make()
                    made[name] = await one if isawaitable(one) else one
                result = function(**made, **arguments, **more)
                return await result if isawaitable(result) else result

            return call
        if more:
            return lambda arguments: function(**arguments, **more)
        return lambda arguments: function(**arguments)


@contextmanager
def _defining(kind: str, function: Function, name: str) -> Iterator[None]:
    """Has an error say what cannot be defined, and where it is."""
    try:
        yield
    except Exception as error:
        raise DefinitionError(
            f'{place_of(function)}{kind} "{name}": {message_of(error)}'
        ) from None


# --- tools

_TOOL_NAME = re.compile(r"[\w.-]{1,128}", re.ASCII)


def _tool_answers(defined: Definitions) -> dict[str, Answer]:
    made = [_tool(one, defined) for one in defined.tools.values()]
    calls = {tool.name: tool.call for tool in made}

    def call_tool(given: Json) -> str:
        request = given["request"]
        name = request["name"]
        call = calls.get(name)
        if call is None:
            raise RpcError(INVALID_PARAMS, f'There is no tool "{name}".')
        return call(request.get("arguments") or {})

    return {"list_tools": _listing("tools", [tool.listed for tool in made]), "call_tool": call_tool}


class _Tool(NamedTuple):
    name: str
    listed: Json
    call: Callable[[Json], str]


def _tool(definition: Definition, defined: Definitions) -> _Tool:
    function, name = definition.function, definition.key
    with _defining("the tool", function, name):
        if not _TOOL_NAME.fullmatch(name):
            raise DefinitionError(
                'its name must be letters, digits, "_", "-" and ".", at most 128.'
            )
        if definition.view is not None and definition.view not in defined.views:
            raise DefinitionError(
                f'there is no view "{definition.view}": define it by view("{definition.view}", FILE).'
            )
        shapes = Shapes()
        taken = _Signature(function, shapes)
        taken.describe()
        # Some clients add arguments of their own, such as n8n.
        arguments = shapes.record(taken.members, ignores_others=True)
        output, schema, beside = _output_of(taken.hints.get("return", Any))
        result = tool_result(output, beside, f'the tool "{name}"')
        description = definition.description or taken.docs.description
        listed = {"name": name, **definition.listed}
        if description:
            listed["description"] = description
        listed["inputSchema"] = {
            **arguments.schema,
            **({"$defs": shapes.definitions} if shapes.definitions else {}),
        }
        if schema is not None:
            listed["outputSchema"] = schema
        encode_of(listed, "what describes it")
    return _Tool(name, listed, _tool_call(name, arguments.convert, taken.caller(), result))


def _tool_call(
    name: str, convert: Convert, call: Callable[[Json], Any], result: Callable[[object], str]
) -> Callable[[Json], str]:
    what = f'The tool "{name}"'

    def called(arguments: Json) -> str:
        running.what = what
        try:
            return result(settled(call(convert(arguments))))
        except Mismatch as wrong:
            return failed(f'The arguments of "{name}" are not valid: {wrong}.')
        except Exception as error:
            return _tool_error(error)

    return called


def _tool_error(error: Exception) -> str:
    """A tool that raises gives an error result, so that a model can correct its call."""
    leaves = leaves_of(error)
    if all(
        isinstance(one, ToolError) or (isinstance(one, AskError) and one.data is None)
        for one in leaves
    ):
        return failed(message_of(error))
    for one in leaves:
        if isinstance(one, RpcError):
            raise one
    log_raised(error)
    return failed(told(error))


def _webhook_answer(defined: Definitions) -> Answer:
    calls = {name: _webhook_call(one) for name, one in defined.webhooks.items()}

    def receive(given: Json) -> str:
        name = given["request"]["name"]
        call = calls.get(name)
        if call is None:
            raise RpcError(INVALID_PARAMS, f'There is no webhook "{name}".')
        return call(given["request"])

    return receive


def _webhook_call(definition: Definition) -> Answer:
    function, name = definition.function, definition.key
    what = f'the webhook "{name}"'
    with _defining("the webhook", function, name):
        taken = _Signature(function, Shapes())
        if len(taken.members) > 1:
            raise DefinitionError("it takes one parameter besides the context: the request.")
        call, names = taken.caller(), list(taken.members)
        result = tool_result("free", {}, what)

    def called(request: Json) -> str:
        running.what = f'The webhook "{name}"'
        try:
            return result(settled(call({one: request_of(request) for one in names})))
        except Exception as error:
            return _tool_error(error)

    return called


def told(error: BaseException) -> str:
    """What a caller learns of an error that is not meant for them."""
    return f"{running.what} has failed." if definitions.masks_errors else message_of(error)


def log_raised(error: BaseException) -> None:
    """Tells the host what ends the call, for the line of the log that says why it failed."""
    log(ERROR, f"Uncaught {trace_of(error)}".encode(errors="replace"))


def _output_of(hint: Any) -> tuple[Output, Json | None, Json | None]:
    """How values of a return type become results; their schema where the type says something that content does not; and what
    stands beside content where it may be some."""
    all_arms = _arms(hint)
    results = [one for one in all_arms if not _is(one, ToolResult)]
    arms = [one for one in results if not (_is_content(one) or _is_blocks(one))]
    has_content = len(arms) < len(results)
    if all(one in _FREE for one in arms) and (has_content or len(arms) < 2):
        return "free", None, None
    given = [one for one in arms if one is not type(None)]
    if len(given) == 1 and _is_list_of_any(given[0]):
        return "wrapped", None, {}
    if len(arms) < len(all_arms):
        hint = Union[tuple(arms)]
    shape = Shapes(output=True).root(hint)
    if shape.schema == {"type": "object"}:
        return "free", None, None
    output: Output = "object"
    schema: Json = {**shape.schema}
    if schema.get("type") != "object":
        definitions = some(**{"$defs": schema.pop("$defs", None)})
        members = {"properties": {"result": schema}, "required": ["result"]}
        output, schema = "wrapped", {"type": "object", **members, **definitions}
    if not has_content:
        return output, schema, None
    # Clients refuse a result without structured content where there is a schema, so that of content is empty.
    schema.pop("required", None)
    return output, schema, {"structuredContent": {}}


_FREE: list[Any] = [Any, object, None, type(None), Never, NoReturn, str, bytes, bytearray, dict]


def _arms(hint: Any) -> list[Any]:
    """The members of a union, else the hint alone."""
    if isinstance(hint, TypeAliasType):
        return _arms(hint.__value__)
    if get_origin(hint) is Annotated:
        return _arms(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [arm for one in get_args(hint) for arm in _arms(one)]
    return [hint]


def _is(hint: Any, *kinds: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, kinds)


def _is_content(hint: Any) -> bool:
    return _is(hint, Content, ResourceContents)


_SERIES: tuple[Any, ...] = (
    list,
    tuple,
    Sequence,
    MutableSequence,
    Collection,
    Iterable,
    Iterator,
    Generator,
)


def _is_series(hint: Any) -> bool:
    return (get_origin(hint) or hint) in _SERIES


def _items_of(hint: Any) -> tuple[Any, ...]:
    """The types of what is in a list; a generator's others are of no concern."""
    return get_args(hint)[:1] if get_origin(hint) is Generator else get_args(hint)


def _is_list_of_any(hint: Any) -> bool:
    return _is_series(hint) and all(one in (Any, object, ...) for one in _items_of(hint))


def _is_blocks(hint: Any) -> bool:
    """True for a list whose type says that content is in it."""
    return _is_series(hint) and any(
        _is_content(arm) for one in _items_of(hint) for arm in _arms(one)
    )


# --- resources

# https://www.rfc-editor.org/rfc/rfc3986#section-3.1. A template may have a variable for all of it.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f]+\Z")
_EXPRESSION = re.compile(r"\{[^{}]*\}")


def _resource_answers(
    defined: Definitions, completers: dict[str, dict[str, Function]]
) -> dict[str, Answer]:
    fixed: dict[str, tuple[Callable[[Json], Any], str | None]] = {}
    templates: list[tuple[Match, Callable[[Json], Any], str | None]] = []
    listed: list[Json] = []
    listed_templates: list[Json] = []
    for uri, definition in defined.resources.items():
        function = definition.function
        with _defining("the resource", function, uri):
            if not _URI.match(_EXPRESSION.sub("x", uri)) and not uri.startswith("{"):
                raise DefinitionError('its URI must begin with a scheme, as in "notes://today".')
            taken = _Signature(function, Shapes())
            description = definition.description or taken.docs.description
            entry = {**definition.listed, **({"description": description} if description else {})}
            mime_type = definition.listed.get("mimeType")
            if "{" in uri:
                names, match = template(uri)
                call = _text_caller(taken, names)
                if own := _completers(definition, taken, names):
                    completers[f"resource {uri}"] = own
                templates.append((match, call, mime_type))
                listed_templates.append({"uriTemplate": uri, **entry})
            elif definition.lists or definition.complete:
                raise DefinitionError("`list` and `complete` are for URI templates.")
            else:
                _text_caller(taken, [])
                fixed[uri] = (taken.caller(), mime_type)
                listed.append({"uri": uri, **entry})

    def read_resource(given: Json) -> str:
        uri = given["request"]["uri"]
        running.what = f"The resource {uri}"
        if uri in fixed:
            call, mime_type = fixed[uri]
            return read_result(settled(call({})), uri, mime_type)
        for match, call, mime_type in templates:
            variables = match(uri)
            if variables is not None:
                return read_result(settled(call(variables)), uri, mime_type)
        raise RpcError(INVALID_PARAMS, f"There is no resource {uri}.", {"uri": uri})

    answers: dict[str, Answer] = {"read_resource": read_resource}
    lists = [
        _Signature(one.lists, Shapes()).caller() for one in defined.resources.values() if one.lists
    ]
    if lists:
        answers["list_resources"] = lambda _input: encode_of(
            {"resources": [*listed, *(one for call in lists for one in settled(call({})))]},
            "The list of resources",
        )
    elif listed:
        answers["list_resources"] = _listing("resources", listed)
    if listed_templates:
        answers["list_resource_templates"] = _listing("resourceTemplates", listed_templates)
    return answers


def _text_caller(taken: _Signature, names: list[str]) -> Callable[[Json], Any]:
    """Calls a function with the variables of a URI, which are texts; those that it does not take are left out."""
    for name, member in taken.members.items():
        if name not in names and member.is_needed:
            known = (
                f"those of its URI: {', '.join(names)}" if names else "none, as its URI has none"
            )
            raise DefinitionError(
                f"`{name}` is not one of its variables. What it takes is {known}."
            )
    call = taken.caller()
    converters = {name: from_text(member.shape.convert) for name, member in taken.members.items()}

    def called(texts: Mapping[str, str]) -> Any:
        made: Json = {}
        for name, convert in converters.items():
            if name in texts:
                try:
                    made[name] = convert(texts[name])
                except Mismatch as wrong:
                    raise RpcError(
                        INVALID_PARAMS, f"{running.what} cannot be had: {wrong.within(name)}."
                    ) from None
        return call(made)

    return called


# --- prompts


def _prompt_answers(
    defined: Definitions, completers: dict[str, dict[str, Function]]
) -> dict[str, Answer]:
    entries: list[Json] = []
    calls: dict[str, tuple[Callable[[Json], Any], list[str], str | None]] = {}
    for name, definition in defined.prompts.items():
        function = definition.function
        with _defining("the prompt", function, name):
            taken = _Signature(function, Shapes())
            taken.describe()
            names = list(taken.members)
            call = _text_caller(taken, names)
            if own := _completers(definition, taken, names):
                completers[f"prompt {name}"] = own
        description = definition.description or taken.docs.description or None
        arguments = [_argument(name, member) for name, member in taken.members.items()]
        entry: Json = {"name": name, **definition.listed}
        if description:
            entry["description"] = description
        if arguments:
            entry["arguments"] = arguments
        entries.append(entry)
        needed = [one for one, member in taken.members.items() if member.is_needed]
        calls[name] = (call, needed, description)

    def get_prompt(given: Json) -> str:
        request = given["request"]
        name = request["name"]
        if name not in calls:
            raise RpcError(INVALID_PARAMS, f'There is no prompt "{name}".')
        running.what = f'The prompt "{name}"'
        call, needed, description = calls[name]
        arguments = request.get("arguments") or {}
        for one in needed:
            if one not in arguments:
                raise RpcError(INVALID_PARAMS, f'The prompt "{name}" needs the argument "{one}".')
        return prompt_result(settled(call(arguments)), name, description)

    return {"list_prompts": _listing("prompts", entries), "get_prompt": get_prompt}


def _argument(name: str, member: Member) -> Json:
    known = {
        key: member.shape.schema[key]
        for key in ("title", "description")
        if key in member.shape.schema
    }
    return {"name": name, **known, **({"required": True} if member.is_needed else {})}


# --- completion


def _completers(definition: Definition, taken: _Signature, names: list[str]) -> dict[str, Function]:
    """What completes each argument: the author's function, else the choices of its type."""
    for name in definition.complete:
        if name not in names:
            raise DefinitionError(f'it completes "{name}", which is not one of its variables.')
    found: dict[str, Function] = {}
    for name, member in taken.members.items():
        choices = _choices(member.shape)
        if choices:
            found[name] = lambda value, _others, choices=choices: [
                one for one in choices if one.startswith(value)
            ]
    for name, function in definition.complete.items():
        takes_others = (
            len([one for one in signature(function).parameters.values() if one.kind in _POSITIONAL])
            > 1
        )
        found[name] = (
            function if takes_others else lambda value, _others, function=function: function(value)
        )
    return found


_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def _choices(shape: Shape) -> list[str]:
    schemas = [shape.schema, *shape.schema.get("anyOf", ())]
    return [one for schema in schemas for one in schema.get("enum", ()) if isinstance(one, str)]


def _completion(completers: dict[str, dict[str, Function]], general: Function | None) -> Answer:
    def complete(given: Json) -> str:
        request = given["request"]
        ref, argument = request["ref"], request["argument"]
        is_prompt = ref["type"] in ("prompt", "ref/prompt")
        key = f"prompt {ref.get('name')}" if is_prompt else f"resource {ref.get('uri')}"
        running.what = f"The completion of the {key}"
        others = (request.get("context") or {}).get("arguments") or {}
        function = completers.get(key, {}).get(argument["name"])
        if function is not None:
            values = settled(function(argument["value"], others))
        else:
            values = settled(general(ref, argument, others)) if general else []
        return encode_of({"completion": {"values": list(values or ())}}, "The completion")

    return complete
