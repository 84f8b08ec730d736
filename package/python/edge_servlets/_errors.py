"""The errors that handlers raise and meet, and how each is told to a caller and to the log."""

import traceback
from types import CodeType, CoroutineType, FunctionType
from typing import Any, Literal

MISSING_CAPABILITY = -32021
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class ToolError(Exception):
    """An error for the tool's caller: its message becomes the result, with `isError`, and nothing is logged.

    Example:
        raise ToolError("There is no weather in Atlantis. Name a city.")
    """


class RpcError(Exception):
    """An error that the client sees as a JSON-RPC error: of the protocol, not of the tool.

    Example:
        raise RpcError(-32602, "Unknown city", {"city": city})
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class AskError(RpcError):
    """Raised when a request to the client has no usable answer. What a user declines or cancels is a result, and no error.

    If a tool does not handle it, the call's result is this message as an error; or, where the client lacks a capability, the
    protocol's error for that.
    """

    reason: Literal["cannot-ask", "client-error", "unusable-answer"]
    """`cannot-ask`: the client does not support the request. `client-error`: it answered with an error.
    `unusable-answer`: its answer does not fit the request."""
    method: str

    def __init__(self, failure: dict[str, Any]) -> None:
        lacks = failure.get("requiredCapabilities")
        data = None if lacks is None else {"requiredCapabilities": lacks}
        code = INTERNAL_ERROR if lacks is None else MISSING_CAPABILITY
        super().__init__(code, failure["message"], data)
        self.reason = failure["failed"]
        self.method = failure["method"]


class ToolCallError(Exception):
    """Raised where a tool of another servlet was not called, or gave no result."""

    tool: str
    reason: Literal[
        "unknown-tool",
        "not-allowed",
        "declined",
        "insufficient-scope",
        "bad-arguments",
        "state-in-use",
        "too-deep",
        "too-many",
        "failed",
    ]

    def __init__(self, tool: str, answer: dict[str, Any]) -> None:
        super().__init__(answer["message"])
        self.tool = tool
        self.reason = answer["failed"]


class FetchError(ConnectionError):
    """Raised when a request has no response: its host is not allowed, does not answer, or not in time."""


class DefinitionError(Exception):
    """Raised while the servlet is built: something that it defines cannot be served."""


def place_of(function: object) -> str:
    """Where a function is defined, as `FILE:LINE`, to begin a message with."""
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if isinstance(code, CodeType) else ""


def leaves_of(error: BaseException) -> list[BaseException]:
    """The error itself, or those in a group of errors, which `asyncio.TaskGroup` raises."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in leaves_of(one)]


def message_of(error: BaseException) -> str:
    """An error as text for a caller."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(message_of, leaves_of(error)))
    text = str(error)
    name = type(error).__name__
    if not text:
        return name
    if isinstance(error, AttributeError) and isinstance(error.obj, CoroutineType):
        return f"{text}. `await` it, in an `async def`."
    # The text of a KeyError is the key alone.
    return f"{name}: {text}" if isinstance(error, (KeyError, SystemExit)) else text


def folder_of(function: FunctionType) -> str:
    """The folder of the module of a function, as traces name it."""
    return function.__code__.co_filename.rpartition("/")[0] + "/"


_KIT = folder_of(message_of)


def trace_of(error: BaseException) -> str:
    """The traceback of an error and its causes, without the frames of the kit."""
    trace = traceback.TracebackException.from_exception(error)
    _without_kit(trace)
    return "".join(trace.format()).rstrip()


def _without_kit(trace: traceback.TracebackException | None) -> None:
    if trace is None:
        return
    trace.stack[:] = [frame for frame in trace.stack if not frame.filename.startswith(_KIT)]
    _without_kit(trace.__cause__)
    _without_kit(trace.__context__)
    for one in trace.exceptions or ():
        _without_kit(one)
