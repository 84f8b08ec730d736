"""What a handler returns, awaited if need be.

Where nothing has loaded asyncio, a coroutine runs from its start to its end, as host functions block. Else `_loop` runs it as
a task.
"""

import sys
from collections.abc import Awaitable, Callable
from functools import wraps
from types import CoroutineType, FrameType
from typing import Any, Protocol

from ._host import WARN, call, log


class Asker(Protocol):
    """The loop, as far as those who ask the host know it: what they ask is sent once nothing else is to be done."""

    def ask(self, method: str, params: dict[str, Any]) -> Awaitable[dict[str, Any]]: ...
    def call_tool(self, name: str, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]: ...


class Deadlock(BaseException):
    """A handler waits for something that can never happen: its call ends, whatever it catches."""


def _drive(awaitable: Any) -> Any:
    steps = awaitable if type(awaitable) is CoroutineType else awaitable.__await__()
    try:
        while steps.send(None) is None:
            pass
    except StopIteration as end:
        return end.value
    raise RuntimeError(
        "A handler awaits something that needs an event loop. Import asyncio where the module begins."
    )


drive = _drive
"""Runs an awaitable to its end; set once, when the servlet is loaded."""
asker: Asker | None = None
"""The loop while it runs a handler."""


def settled(value: Any) -> Any:
    """The value, or what it gives if it can be awaited."""
    return drive(value) if type(value) is CoroutineType or hasattr(value, "__await__") else value


class Ready:
    """What has been done already, as host functions block, and may be awaited; also by a task."""

    __slots__ = ()

    # To asyncio it is a coroutine by its methods, so that `asyncio.create_task(fetch(url))` works.

    def __await__(self) -> Any:
        return self._given()
        yield

    def send(self, value: Any, /) -> Any:
        raise StopIteration(self._given())

    def throw(self, *error: Any) -> Any:
        raise error[0]

    def close(self) -> None: ...

    def _given(self) -> Any:
        """What awaiting it gives, or raises."""
        return self


class Done(Ready):
    """Nothing, which may be awaited."""

    __slots__ = ()

    def _given(self) -> None:
        return None


done = Done()


def tell(what: str, name: str, params: object = None) -> Done:
    """Calls a host function that answers nothing; `what` names it in messages."""
    call(what, name, params)
    return done


class Failed(Ready):
    """What has failed already. Its error is raised where it is awaited, or used as what it would have been."""

    __slots__ = ("_error", "_is_known", "_what")

    def __init__(self, what: str, error: Exception) -> None:
        self._what = what
        self._error = error
        self._is_known = False

    def _given(self) -> Any:
        self._is_known = True
        raise self._error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._given()

    def __del__(self) -> None:
        if not self._is_known:
            text = f"{self._what}() has failed, and nothing awaits it: {self._error}"
            log(WARN, text.encode(errors="replace"))


def raises_where_awaited[**P, T](function: Callable[P, T]) -> Callable[P, T]:
    """Has a function that gives something ready raise where that is awaited, as those who call it in an `async def` expect."""

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except Exception as error:
            if not _is_of_coroutine(sys._getframe(1)):
                raise
            return Failed(function.__name__, error)  # type: ignore[return-value]

    return called


def _is_of_coroutine(frame: FrameType | None) -> bool:
    """True for code of an `async def`, also for an expression in one that has a frame of its own."""
    while frame is not None and frame.f_code.co_name in ("<genexpr>", "<lambda>"):
        frame = frame.f_back
    return frame is not None and bool(frame.f_code.co_flags & _ASYNC)


_ASYNC = 0x80 | 0x200
"""Flags of the code of coroutines and of asynchronous generators, as `inspect` has them."""
