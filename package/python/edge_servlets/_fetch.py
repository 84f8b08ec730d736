"""HTTP, to the hosts that the manifest allows."""

import os
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import _edge

from . import _host
from ._content import quoted
from ._drive import Ready, raises_where_awaited
from ._errors import FetchError
from ._json import decode, decode_bytes, encode, encode_of

type Query = Mapping[str, object] | Sequence[tuple[str, object]]
type Body = str | bytes | bytearray | memoryview | Query | Iterable[bytes]

_BYTES = (bytes, bytearray, memoryview)


class Headers(Mapping[str, str]):
    """Headers by name, in whichever case."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in values.items()}

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()].replace("\n", ", ")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get_list(self, name: str) -> list[str]:
        """The values of a header that may be there several times, such as `set-cookie`."""
        found = self._values.get(name.lower())
        return [] if found is None else found.split("\n")

    def __repr__(self) -> str:
        return f"Headers({self._values!r})"


_Ready = Coroutine[Any, Any, "Response"] if TYPE_CHECKING else Ready


class Response(_Ready):
    """A response. It is whole, and there already: in an `async def` it may be awaited, in a `def` it is used as it is."""

    __slots__ = ("content", "headers", "status", "url")

    def __init__(self, url: str, status: int, headers: Headers, content: bytes) -> None:
        self.url = url
        self.status = status
        self.headers = headers
        self.content = content

    @property
    def ok(self) -> bool:
        """True for a status from 200 to 299."""
        return 200 <= self.status < 300

    @property
    def status_code(self) -> int:
        return self.status

    @property
    def text(self) -> str:
        """The body as text, in the encoding that its content type names, else in UTF-8."""
        return text_of(self.content, self.headers.get("content-type", ""))

    def json(self) -> Any:
        """The body as JSON. Raises a `ValueError` where it is none."""
        return decode(self.content.decode().removeprefix("\ufeff"))

    def iter_bytes(self, size: int = 65536) -> Iterator[bytes]:
        """The body in parts of so many bytes."""
        for at in range(0, len(self.content), size):
            yield self.content[at : at + size]

    def iter_lines(self) -> Iterator[str]:
        return iter(self.text.splitlines())

    def raise_for_status(self) -> Response:
        """Raises a `FetchError` where `ok` is false."""
        if self.ok:
            return self
        raise FetchError(f"{self.url} answered {self.status}: {self.text[:200]}")

    def __repr__(self) -> str:
        return f"<Response {self.status} {self.url}>"


@raises_where_awaited
def fetch(
    url: str,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    params: Query | None = None,
    json: object = None,
    data: Body | None = None,
    files: Mapping[str, object] | None = None,
    account: str | None = None,
) -> Response:
    """Makes a request, to a host that `allowed_hosts` in servlet.json has; redirects are followed to such hosts only.

    `method` is GET by default, and POST with a body: `json`; `data`, which is a text, bytes, parts of bytes or the fields of a
    form (a dict or pairs); or `files` (with the fields in `data`), by name as bytes, `(file name, bytes)` or
    `(file name, bytes, media type)`.
    `account` is one of `accounts` in servlet.json: the server adds its caller's token. Raises a `FetchError` where there is no
    response: in an `async def`, where it is awaited or used.

    Example:
        response = await fetch("https://api.example.com/items", json={"name": "pen"})
        if response.ok: item = response.json()
    """
    _host.demand_call("fetch()")
    sent = {name.lower(): str(value) for name, value in (headers or {}).items()}
    kind, body = _body(json, data, files)
    if kind and "content-type" not in sent:
        sent["content-type"] = kind
    if account is not None:
        sent["authorization"] = f"account {account}"
    if params:
        url += ("&" if "?" in url else "?") + _form_of("params", params)
    head = {
        "url": url,
        "method": (method or ("GET" if body is None else "POST")).upper(),
        "headers": sent,
    }
    content = _host.answer("http_fetch", encode(head).encode(), body or b"")
    status = _edge.http_status()
    fields = decode_bytes(_edge.http_headers() or b"{}")
    # A failed request has the status 0, and its reason in place of the headers.
    if status == 0:
        raise FetchError(fields.get("error", f"fetch failed: {url}"))
    return Response(url, status, Headers(fields), content or b"")


def _body(json: object, data: Any, files: Mapping[str, object] | None) -> tuple[str, bytes | None]:
    """A body, and its media type where it has one of its own."""
    if json is not None:
        return "application/json", encode_of(json, "The body of a request").encode()
    if files is not None:
        return _multipart(data or {}, files)
    if data is None:
        return "", None
    if isinstance(data, str):
        return "text/plain;charset=UTF-8", data.encode()
    if isinstance(data, _BYTES):
        return "", bytes(data)
    if not isinstance(data, Mapping):
        data = list(data)
        if all(isinstance(part, _BYTES) for part in data):
            return "", b"".join(data)
    return "application/x-www-form-urlencoded", _form_of("data", data).encode()


def _form_of(what: str, pairs: Query) -> str:
    """Names with values as they stand in a URL or a form. A list repeats its name; what is None is left out."""
    return "&".join(f"{quoted(name)}={quoted(text)}" for name, text in _fields_of(what, pairs))


def _fields_of(what: str, pairs: Query) -> Iterator[tuple[str, str]]:
    """Fields by name, of the parameter `what`. Raises a `TypeError` for anything but pairs."""
    items: Iterable[object] = pairs.items() if isinstance(pairs, Mapping) else pairs
    for pair in [pairs] if isinstance(pairs, (str, *_BYTES)) else items:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"fetch() expects `{what}` as a dict or as (name, value) pairs, and got {type(pair).__name__}"
            )
        name, value = pair
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                yield str(name), str(one).lower() if isinstance(one, bool) else str(one)


def _multipart(fields: Query, files: Mapping[str, Any]) -> tuple[str, bytes]:
    """https://www.rfc-editor.org/rfc/rfc7578"""
    parts: list[bytes] = []
    boundary = os.urandom(16).hex()

    def add(head: str, content: bytes) -> None:
        parts.append(
            f"--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n".encode()
            + content
            + b"\r\n"
        )

    for name, text in _fields_of("data", fields):
        add(f'name="{_escaped(name)}"', text.encode())
    for name, given in files.items():
        name_of_file = given[0] if isinstance(given, tuple) else name
        kind = (
            given[2] if isinstance(given, tuple) and len(given) > 2 else "application/octet-stream"
        )
        head = (
            f'name="{_escaped(name)}"; filename="{_escaped(name_of_file)}"\r\ncontent-type: {kind}'
        )
        add(head, _bytes_of(given))
    return f"multipart/form-data; boundary={boundary}", b"".join(
        parts
    ) + f"--{boundary}--\r\n".encode()


def _bytes_of(given: Any) -> bytes:
    content = given[1] if isinstance(given, tuple) else given
    if hasattr(content, "read"):
        content = content.read()
    return content.encode() if isinstance(content, str) else bytes(content)


def _escaped(name: str) -> str:
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def text_of(content: bytes, media_type: str) -> str:
    """Bytes as text. The host knows all encodings of the web."""
    _, _, rest = media_type.lower().partition("charset=")
    label = rest.partition(";")[0].strip(" \"'")
    if label not in ("", "utf-8", "utf8", "us-ascii", "ascii"):
        answer = _edge.call("decode_text", encode({"label": label}).encode(), content)
        if answer and answer[0] == 0:
            return answer[1:].decode()
    return content.decode("utf-8", "replace").removeprefix("\ufeff")
