"""Files that a servlet stores for its caller, and files that callers pass to tools."""

import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from . import _asks
from ._content import Json, ResourceLink, some
from ._definitions import definitions
from ._errors import AskError, ToolError
from ._host import call, call_host
from ._schema import Field

_PART_BYTES = 512 * 1024
"""Bytes that are sent to the host, or read from it, at once."""


def file(
    *,
    accept: Sequence[str] | None = None,
    most_bytes: int | None = None,
    ask: str | None = None,
    description: str | None = None,
) -> Any:
    """Says of a `str` argument that it is a file, which `Context.open` opens.

    `accept` has media types, such as `image/*`, and ends of names, such as `.csv`; `most_bytes` is its size at most. With `ask`, a
    caller may leave it out: the user is asked for it by this message, on a page of the server.

    Example:
        @tool
        async def rows(ctx: Context, table: Annotated[str, file(accept=["text/csv"])]) -> int:
            return (await (await ctx.open(table)).text()).count("\\n")
    """
    definitions.declared.setdefault("files", {})
    bounds = some(accept=None if accept is None else list(accept), mostBytes=most_bytes)
    mark = {"x-edge-file": {**bounds, **some(ask=ask)}}
    if ask is None:
        return Field(description=description, json_schema_extra=mark)

    async def asked() -> str:
        try:
            uri = await _asked_file("file()", {"message": ask, **bounds})
        except AskError as error:
            if error.reason != "cannot-ask":
                raise
            raise ToolError(
                "A file is missing, and your client cannot ask the user for it. Pass it as an argument."
            ) from None
        if uri is None:
            raise ToolError("The user sends no file.")
        return uri

    return Field(default_factory=asked, description=description, json_schema_extra=mark)


class PassedFile:
    """A file that the caller has passed to a tool. `size` is in bytes."""

    def __init__(
        self,
        name: str,
        mime_type: str,
        size: int,
        uri: str,
        read: Callable[[int, int], Awaitable[bytes]],
    ) -> None:
        self._uri = uri
        self.name = name
        self.mime_type = mime_type
        self.size = size
        self._read = read

    async def bytes(self, start: int = 0, length: int | None = None) -> bytes:
        """Its bytes from `start` on, at most `length`: all by default."""
        end = self.size if length is None else min(self.size, start + length)
        parts = [
            await self._read(at, min(_PART_BYTES, end - at)) for at in range(start, end, _PART_BYTES)
        ]
        return b"".join(parts)

    async def text(self) -> str:
        """All of it, as UTF-8."""
        return (await self.bytes()).decode(errors="replace")

    async def link(self) -> ResourceLink:
        """A link to it, as of `Context.file`. Raises a `RuntimeError` for a file in the argument itself."""
        return _link_of(await call_host("link()", "transfers.link", {"uri": self._uri}))

    async def parts(self) -> AsyncIterator[bytes]:
        """Its bytes in parts, in order: for a file that does not fit into memory."""
        for at in range(0, self.size, _PART_BYTES):
            yield await self._read(at, min(_PART_BYTES, self.size - at))


def _link_of(answer: Json) -> ResourceLink:
    return ResourceLink(
        answer["uri"],
        answer["name"],
        description=answer.get("description"),
        mime_type=answer.get("mimeType"),
        size=answer.get("size"),
        meta=answer.get("_meta"),
    )


async def store_file(
    _: object,
    content: str | bytes | Iterable[str | bytes] | AsyncIterable[str | bytes],
    *,
    name: str,
    mime_type: str | None = None,
) -> ResourceLink:
    """Stores a file for the caller, and returns a link to it for the result of a tool.

    The link has a URL that is valid for some hours, from which anybody who has it may fetch the file. Tools take the file by the
    URI in its description, and clients read it in parts by that. What does not fit into memory is given in pieces, such as by a
    generator. The manifest needs `files`. Raises a `RuntimeError` if it lacks that, or there is no room.
    """
    usual = "text/plain; charset=utf-8" if isinstance(content, str) else "application/octet-stream"
    known: Json = {"name": name, "mimeType": mime_type or usual}
    held = bytearray()
    start = 0

    async def write(part: bytes | bytearray, is_last: bool) -> Json:
        nonlocal start
        given = {"start": start, "bytes": b64encode(part).decode(), "isLast": is_last}
        answer: Json = await call_host("file()", "transfers.write", {**known, **given})
        start += len(part)
        return answer

    async for piece in _pieces_of(content):
        held += piece.encode(errors="replace") if isinstance(piece, str) else piece
        # The last part says that it is the last.
        while len(held) > _PART_BYTES:
            known["id"] = (await write(held[:_PART_BYTES], False))["id"]
            del held[:_PART_BYTES]
    return _link_of(await write(held, True))


async def _pieces_of(
    content: str | bytes | Iterable[str | bytes] | AsyncIterable[str | bytes],
) -> AsyncIterator[str | bytes]:
    if isinstance(content, AsyncIterable):
        async for piece in content:
            yield piece
    else:
        is_whole = isinstance(content, (str, bytes, bytearray, memoryview))
        for piece in [content] if is_whole else content:
            yield piece  # type: ignore[misc]


async def open_file(_: object, uri: str) -> PassedFile:
    """Opens a file by the value of an argument that is a `file()`.

    Raises a `RuntimeError` if the caller has no such file, or the manifest lacks `files`.
    """
    if uri[:5].lower() == "data:":
        return _inline(uri[5:])
    found = await call_host("open()", "transfers.open", {"uri": uri})

    async def read(start: int, length: int) -> bytes:
        given = {"uri": uri, "start": start, "length": length}
        return b64decode(await call_host("open()", "transfers.read", given))

    return PassedFile(found["name"], found["mimeType"], found["size"], uri, read)


async def ask_file(
    _: object,
    message: str,
    *,
    accept: Sequence[str] | None = None,
    most_bytes: int | None = None,
) -> PassedFile | None:
    """Asks the user for a file, on a page of this server, and waits until it is there; None if they do not open the page.

    `accept` and `most_bytes` are those of `file`. Raises a `RuntimeError` if the file does not come in time, or the manifest lacks
    `files`.
    """
    bounds = some(accept=None if accept is None else list(accept), mostBytes=most_bytes)
    uri = await _asked_file("ask_file()", {"message": message, **bounds})
    return None if uri is None else await open_file(_, uri)


async def _asked_file(what: str, request: Json) -> str | None:
    """As `ask_file`, but returns the file's URI. `what` names the function in messages."""
    asked = await call_host(what, "transfers.ask", request)
    uri = asked["uri"]
    about = {"message": request["message"], "url": asked["url"], "elicitationId": uri}
    params = {"mode": "url", **about}
    answer = await _asks.request(what, "elicitation/create", params)
    if answer.get("action") != "accept":
        return None
    pause = 1.0
    while not await call_host(what, "transfers.arrived", {"uri": uri}):
        time.sleep(pause)
        # The person may take a day, in which a call may ask the host some hundred times.
        pause = min(1.1 * pause, 120.0)
    call(what, "notify_url_elicitation_completed", {"elicitationId": uri})
    return str(uri)


def _inline(given: str) -> PassedFile:
    """A file in a `data:` URI, as clients pass small ones (SEP-2356)."""
    head, _, body = given.partition(",")
    mime_type, *rest = head.split(";")
    name = next((unquote(one[5:]) for one in rest if one.startswith("name=")), "file")
    data = unquote_to_bytes(body)
    try:
        if any(one.lower() == "base64" for one in rest):
            data = b64decode(data + b"=" * (-len(data) % 4), validate=True)
    except ValueError:
        raise RuntimeError("open(): the data: URI is not whole. Pass it again.") from None

    async def read(start: int, length: int) -> bytes:
        return data[start : start + length]

    return PassedFile(name, mime_type or "text/plain", len(data), "data:", read)
