"""What a handler returns, awaited if need be.

Where nothing has loaded asyncio, a coroutine runs from its start to its end, as host functions block. Else `_loop` runs it as
a task.
"""

from collections.abc import Awaitable
from types import CoroutineType
from typing import Any, Protocol


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


class Done:
    """Nothing, which may be awaited: it has been done already, as host functions block."""

    __slots__ = ()

    def __await__(self) -> Any:
        return None
        yield


done = Done()
