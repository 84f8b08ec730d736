"""The call that runs, and the functions of the host that it may use."""

import io
import time
from typing import Any

import _edge

from ._json import decode_bytes, encode

TRACE, DEBUG, INFO, WARN, ERROR = range(5)


class _Running:
    """The state of the call that runs."""

    __slots__ = ("call", "input", "is_over", "what")

    def __init__(self) -> None:
        self.call = False
        self.is_over = False
        """Garbage may be collected between calls: what objects do then must not reach the host."""
        self.input: dict[str, Any] = {}
        self.what = ""
        """The export or the tool, for messages."""

    def sleep(self, seconds: float, /) -> None:
        """Replaces `time.sleep`. Raises a `RuntimeError` at module scope.

        A bound method stays itself as an attribute of a class, as the built-in function does.
        """
        if not self.is_over:
            demand_call("sleep()")
        _sleep(seconds)


running = _Running()
_sleep, time.sleep = time.sleep, running.sleep


def demand_call(what: str) -> None:
    """Raises a `RuntimeError` at module scope, whose state becomes the snapshot that each call begins with."""
    if not running.call:
        raise RuntimeError(
            f"{what} works only inside a handler: module scope runs once, when the servlet is built."
        )


chance: Any = None
"""The module `_chance`, once `random` is loaded."""


def call(what: str, name: str, payload: object = None) -> bytes | None:
    """Calls a host function with JSON; `what` names it in messages."""
    demand_call(what)
    return answer(name, b"" if payload is None else encode(payload).encode(errors="replace"))


def answer(name: str, data: bytes, more: bytes = b"") -> bytes | None:
    """The answer of a host function. Had it been another one, other random numbers would follow."""
    found = _edge.call(name, data, more)
    if found is not None and chance is not None:
        chance.renew()
    return found


async def call_host(what: str, name: str, payload: object) -> Any:
    """Calls a host function that a feature of the server adds, with JSON; `what` names it in messages.

    Raises a `RuntimeError` with the server's reason if it fails, or if the server lacks the feature.
    """
    found = decode_bytes(call(what, "call_host", {"name": name, "payload": payload}) or b"{}")
    if "result" not in found:
        raise RuntimeError(f"{what}: {found.get('failed')}")
    return found["result"]


def config(key: str) -> str | None:
    demand_call("config()")
    found = _edge.config(key.encode())
    return found.decode() if found else None


def log(level: int, text: bytes) -> None:
    """Writes to the server's log."""
    if not running.is_over:
        _edge.log(level, text)


class _Bytes(io.BufferedIOBase):
    """The bytes of a `Writer`, as programs write that set an encoding of their own."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._writer.write(bytes(data).decode("utf-8", "replace"))

    def flush(self) -> None:
        self._writer.flush()


class Writer(io.TextIOBase):
    """Standard output or error: what is printed until a line ends is an entry of the server's log."""

    encoding = "utf-8"

    def __init__(self, level: int) -> None:
        self._level = level
        self._parts: list[str] = []

    def writable(self) -> bool:
        return True

    def reconfigure(self, **options: Any) -> None:
        """Does nothing: it writes UTF-8, and each line at once."""

    @property
    def buffer(self) -> io.BufferedIOBase:
        return _Bytes(self)

    def write(self, text: str, /) -> int:
        self._parts.append(text)
        if text.endswith("\n"):
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self._parts:
            text = "".join(self._parts).rstrip("\n")
            self._parts.clear()
            log(self._level, text.encode(errors="replace"))
