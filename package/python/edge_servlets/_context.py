"""The context of a handler: what it can ask of its caller and of the host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, overload

from . import _asks, _host
from ._calls import ToolCallResult, Tools, call_tool
from ._content import Content, Message, some
from ._drive import Done, done, raises_where_awaited, tell
from ._errors import AskError
from ._fetch import fetch
from ._host import running
from ._json import encode_or_text
from ._members import Members
from ._schema import Convert, Json, Mismatch, Shapes

type LoggingLevel = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
_LEVELS = frozenset[str](get_args(LoggingLevel.__value__))


def _is_level(value: object) -> bool:
    return isinstance(value, str) and value in _LEVELS


@dataclass(frozen=True, slots=True)
class AcceptedElicitation[T]:
    """The user's answer to a form or a page. It is true where the others are false."""

    data: T
    action: Literal["accept"] = "accept"

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True, slots=True)
class DeclinedElicitation:
    """The user declines to answer."""

    action: Literal["decline"] = "decline"
    data: None = None

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class CancelledElicitation:
    """The user has closed the form, or not answered in time."""

    action: Literal["cancel"] = "cancel"
    data: None = None

    def __bool__(self) -> Literal[False]:
        return False


type ElicitationResult[T] = AcceptedElicitation[T] | DeclinedElicitation | CancelledElicitation


@dataclass(frozen=True, slots=True)
class Client:
    """The client that made the request, as it describes itself."""

    capabilities: dict[str, Any]
    views: bool
    """Whether it shows views."""
    name: str | None = None
    version: str | None = None
    protocol_version: str | None = None
    """The revision of MCP that it speaks."""
    principal: str | None = None
    """Who is calling: `anonymous`, or the name that their credential proves."""
    session: str | None = None
    """The session, by an opaque name; None for clients without sessions."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that the user lets the server work on; `uri` is a `file:` URL."""

    uri: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SampleResult:
    """The answer of the client's model."""

    content: Content
    model: str
    role: Literal["user", "assistant"] = "assistant"
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        return self.content.text


class Context(Members):
    """What a handler can ask of its caller and of the host: a parameter with this type hint gets it.

    Requests wait for the client's answer, for a day if need be. They raise an `AskError` if there is no usable one.

    Example:
        @tool
        async def greet(ctx: Context) -> str:
            answer = await ctx.elicit("Your name?", str)
            return f"Hello {answer.data}" if answer else "Never mind"
    """

    __slots__ = ()

    def __class_getitem__(cls, _: object) -> type[Context]:
        # As servers for the official SDK write it: `Context[ServerSession, None]`.
        return cls

    @property
    def id(self) -> str | int:
        """The request's id."""
        return _given("context").get("id", "")

    @property
    def request_id(self) -> str:
        return str(self.id)

    @property
    def meta(self) -> dict[str, Any]:
        """The request's `_meta`."""
        return _given("context").get("_meta") or {}

    @property
    def trace(self) -> str | None:
        """The client's place in its trace, as a `traceparent`. https://www.w3.org/TR/trace-context"""
        return self.meta.get("traceparent")

    @property
    def client(self) -> Client:
        client = _given("context").get("client") or {}
        capabilities = client.get("capabilities") or {}
        views = (capabilities.get("extensions") or {}).get("io.modelcontextprotocol/ui") or {}
        return Client(
            capabilities,
            "text/html;profile=mcp-app" in (views.get("mimeTypes") or ()),
            *map(client.get, ("name", "version", "protocolVersion", "principal", "session")),
        )

    @property
    def input_responses(self) -> dict[str, Any] | None:
        """The answers to an `input_required` result that this handler returned before.

        Raises an `AskError` if one has failed.
        """
        request = _given("request")
        answers = request.get("inputAnswers")
        if answers is None:
            return request.get("inputResponses")
        for answer in answers.values():
            if "result" not in answer:
                raise AskError(answer)
        return {key: answer["result"] for key, answer in answers.items()}

    @property
    def request_state(self) -> str | None:
        """The `requestState` of an `input_required` result that this handler returned before."""
        return _given("request").get("requestState")

    @overload
    async def elicit(
        self,
        message: str,
        response_type: None = None,
        *,
        timeout: float | None = None,
        view: str | None = None,
    ) -> ElicitationResult[dict[str, Any]]: ...
    @overload
    async def elicit[T](
        self,
        message: str,
        response_type: type[T],
        *,
        timeout: float | None = None,
        view: str | None = None,
        response_title: str | None = None,
    ) -> ElicitationResult[T]: ...
    @overload
    async def elicit(
        self,
        message: str,
        response_type: Sequence[str] | Mapping[str, Mapping[str, str]],
        *,
        timeout: float | None = None,
        view: str | None = None,
        response_title: str | None = None,
    ) -> ElicitationResult[str]: ...
    @overload
    async def elicit(
        self,
        message: str,
        response_type: Sequence[Sequence[str] | Mapping[str, Mapping[str, str]]],
        *,
        timeout: float | None = None,
        view: str | None = None,
        response_title: str | None = None,
    ) -> ElicitationResult[list[str]]: ...
    @overload
    async def elicit(
        self,
        message: str,
        response_type: object,
        *,
        timeout: float | None = None,
        view: str | None = None,
        response_title: str | None = None,
    ) -> ElicitationResult[Any]: ...
    async def elicit(
        self,
        message: str,
        response_type: Any = None,
        *,
        timeout: float | None = None,
        view: str | None = None,
        response_title: str | None = None,
        schema: Any = None,
    ) -> ElicitationResult[Any]:
        """Asks the user to fill in a form, and gives what they have filled in as `data`.

        `response_type` is a dataclass or TypedDict of texts, numbers, booleans and choices; one of these alone, such as
        `bool` or `Literal["s", "m"]`; a list of choices, or a dict of choices as `{"s": {"title": "Small"}}`; either of
        these in a list, of which several may be chosen; or None, for a mere yes. `timeout` is in seconds; after it the form
        counts as cancelled. `view` names a view of the servlet that stands for the form where the client can.
        `response_title` is the title of what is one alone. `schema` is the official SDK's name of `response_type`.
        """
        schema, convert = _form(schema if response_type is None else response_type, response_title)
        params: Json = {
            "mode": "form",
            "message": message,
            "requestedSchema": schema,
            **_limit(timeout),
        }
        if view is not None:
            params["_meta"] = {"ui": {"resourceUri": view}}
        answer = await _asks.request("elicit()", "elicitation/create", params)
        if answer.get("action") != "accept":
            return _declined(answer)
        try:
            return AcceptedElicitation(convert(answer.get("content") or {}))
        except Mismatch as wrong:
            raise _asks.unusable(
                "elicitation/create", f"The user's answer does not fit: {wrong}"
            ) from None

    async def elicit_url(
        self,
        message: str,
        url: object,
        *,
        elicitation_id: str | None = None,
        timeout: float | None = None,
    ) -> ElicitationResult[dict[str, Any]]:
        """Asks the user to open a page, which must be https, for what must not pass through the client.

        `accept` only means that they open it: ask your service whether they are done there.
        """
        more = some(elicitationId=elicitation_id, **_limit(timeout))
        params = {"mode": "url", "message": message, "url": str(url), **more}
        answer = await _asks.request("elicit_url()", "elicitation/create", params)
        return (
            AcceptedElicitation(answer.get("content") or {})
            if answer.get("action") == "accept"
            else _declined(answer)
        )

    async def ask_secret(
        self,
        name: str,
        message: str | None = None,
        *,
        replace: bool = False,
        timeout: float | None = None,
    ) -> str | None:
        """A secret of the caller, such as a password; None if they do not give it.

        It is asked for on a page of the server the first time, or always with `replace`, and kept for this servlet and this
        caller.
        """
        params = {"mode": "secret", "name": name, **some(message=message), **_limit(timeout)}
        if replace:
            params["replace"] = True
        answer = await _asks.request("ask_secret()", "elicitation/create", params)
        return str(answer["content"]["secret"]) if answer.get("action") == "accept" else None

    async def sample(
        self,
        messages: str | Content | Message | Sequence[str | Content | Message],
        system_prompt: str | None = None,
        temperature: float | None = None,
        max_tokens: int = 1024,
        model_preferences: str | Sequence[str] | Mapping[str, Any] | None = None,
        *,
        stop_sequences: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> SampleResult:
        """Asks the client's model. `model_preferences` are names of models, or as MCP has them."""
        given = (
            messages
            if isinstance(messages, Sequence) and not isinstance(messages, str)
            else [messages]
        )
        if isinstance(model_preferences, str):
            model_preferences = [model_preferences]
        if model_preferences is not None and not isinstance(model_preferences, Mapping):
            model_preferences = {"hints": [{"name": name} for name in model_preferences]}
        params = {
            "messages": [one if isinstance(one, Message) else Message(one) for one in given],
            "maxTokens": max_tokens,
            **some(
                systemPrompt=system_prompt,
                temperature=temperature,
                modelPreferences=model_preferences,
                stopSequences=stop_sequences,
                metadata=metadata,
            ),
        }
        answer = await _asks.request("sample()", "sampling/createMessage", params)
        content = answer.get("content") or {}
        block = Content(content[0] if isinstance(content, list) else content)
        return SampleResult(
            block,
            answer.get("model", ""),
            answer.get("role", "assistant"),
            answer.get("stopReason"),
        )

    async def list_roots(self) -> list[Root]:
        """The folders and files that the user lets the server work on."""
        answer = await _asks.request("list_roots()", "roots/list", {})
        return [Root(one["uri"], one.get("name")) for one in answer.get("roots") or ()]

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> ToolCallResult:
        """Calls a tool of another servlet, by the name that the server lists, with the rights of the caller.

        `may_call` in servlet.json must have it. Calls that are begun together are made together. Raises a `ToolCallError`.
        """
        return await call_tool(name, arguments)

    @property
    def tools(self) -> Tools:
        """`call_tool` for each name: `await ctx.tools.forecast(city="Bern")`."""
        return _TOOLS

    fetch = staticmethod(fetch)

    @raises_where_awaited
    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> Done:
        """Tells the client how far the call is, if it wants to know. It may be awaited."""
        _host.demand_call("report_progress()")
        token = self.meta.get("progressToken")
        if token is None:
            return done
        params = {
            "progressToken": token,
            "progress": progress,
            **some(total=total, message=message),
        }
        return tell("report_progress()", "notify_progress", params)

    @overload
    def log(
        self,
        message: object,
        level: LoggingLevel = "info",
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done: ...

    @overload
    def log(
        self,
        level: LoggingLevel,
        message: object,
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done: ...

    @raises_where_awaited
    def log(
        self,
        message: object,
        level: object = "info",
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done:
        """Sends a log message, which is any JSON, to the client. The level may stand first, as in the official SDK.

        Messages for the server's owner go to `print` or `logging`.
        """
        if not _is_level(level):
            message, level = level, message
        if not _is_level(level):
            raise ValueError(f"log() takes a message and a level: {', '.join(sorted(_LEVELS))}")
        data = encode_or_text(message if extra is None else {"msg": message, "extra": extra})
        return tell(
            "log()",
            "notify_logging_message",
            {"level": level, "data": data, **some(logger=logger_name)},
        )

    @raises_where_awaited
    def debug(
        self,
        message: object,
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done:
        return self.log(message, "debug", logger_name, extra)

    @raises_where_awaited
    def info(
        self,
        message: object,
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done:
        return self.log(message, "info", logger_name, extra)

    @raises_where_awaited
    def warning(
        self,
        message: object,
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done:
        return self.log(message, "warning", logger_name, extra)

    @raises_where_awaited
    def error(
        self,
        message: object,
        logger_name: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Done:
        return self.log(message, "error", logger_name, extra)

    def config(self, key: str) -> str | None:
        """A value of the manifest's `env_vars`, or a credential of the call for its `requirements`."""
        return _host.config(key)

    def secret(self, service: str, user: str | None = None) -> str | None:
        """A secret that the manifest allows, or a secret of the call; without a user also one that `ask_secret` was given."""
        found = _host.call(
            "secret()", "get_keyring_secret", {"service": service, **some(user=user)}
        )
        return found.decode() if found else None

    def discard_changes(self) -> None:
        """Keeps nothing of what this call changes: the servlet's memory and files stay as they were before it."""
        _host.call("discard_changes()", "discard_changes")

    def reset_state(self) -> None:
        """Forgets the servlet's memory: the next call starts with new memory. Files stay."""
        _host.call("reset_state()", "reset_state")


context = Context()
"""The context of the call that runs: an instance runs one."""
_TOOLS = Tools()


def _given(key: str) -> dict[str, Any]:
    return running.input.get(key) or {}


def _limit(seconds: float | None) -> Json:
    return {} if seconds is None else {"timeout": round(seconds * 1000)}


def _declined(answer: dict[str, Any]) -> DeclinedElicitation | CancelledElicitation:
    return DeclinedElicitation() if answer.get("action") == "decline" else CancelledElicitation()


def _titled(choices: Mapping[str, Mapping[str, str]]) -> list[Json]:
    return [{"const": value, "title": more.get("title", value)} for value, more in choices.items()]


def _form(asked: Any, title: str | None) -> tuple[Json, Convert]:
    """The schema of a form, and what makes its answer what was asked for."""
    if asked is None:
        return {"type": "object", "properties": {}}, lambda answer: answer
    is_list = isinstance(asked, (list, tuple))
    if is_list and asked and isinstance(asked[0], (list, tuple, Mapping)):
        if len(asked) > 1:
            raise TypeError("elicit() takes several choices as one list in a list: [[CHOICE, …]]")
        schema, convert = Shapes().of(list[Literal[tuple(asked[0])]])
        if isinstance(asked[0], Mapping):
            schema = {"type": "array", "items": {"anyOf": _titled(asked[0])}}
    elif isinstance(asked, Mapping):
        schema = {"type": "string", "oneOf": _titled(asked)}
        convert = Shapes().of(Literal[tuple(asked)]).convert
    elif is_list:
        schema, convert = Shapes().of(Literal[tuple(asked)])
    else:
        schema, convert = Shapes(form=True).root(asked)
    if schema.get("type") == "object":
        return {
            name: value for name, value in schema.items() if name != "additionalProperties"
        }, convert
    schema = {**some(title=title), **schema}

    def value_of(answer: Any) -> Any:
        try:
            return convert(answer.get("value"))
        except Mismatch as wrong:
            raise wrong.within("value")

    return {"type": "object", "properties": {"value": schema}, "required": ["value"]}, value_of
