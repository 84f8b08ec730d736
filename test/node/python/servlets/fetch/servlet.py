from io import BytesIO
from typing import Any

from edge_servlets import FetchError, fetch, tool

BODIES: dict[str, Any] = {
    "none": {"params": {"q": "é &", "n": [1, 2], "skip": None}},
    "json": {"json": {"a": ["é", None]}},
    "text": {"data": "é"},
    "bytes": {"data": b"\x00\xff"},
    "parts": {"data": (part for part in [b"a", b"b"])},
    "form": {"data": {"a": "x y&z", "b": [1, True], "c": None}},
    "pairs": {"data": [("a", "x y&z"), ["b", [1, True]], ("a", 2)]},
    "files": {
        "data": {"a": "1", "b": [1, True], "c": None},
        "files": {"f": ("a.txt", b"hi", "text/plain"), "g": b"x", "h": BytesIO(b"y")},
    },
    "text with files": {"data": "text", "files": {"f": b"x"}},
    "bytes with files": {"data": b"bytes", "files": {"f": b"x"}},
    "texts with files": {"data": ["ab"], "files": {"f": b"x"}},
    "texts": {"data": ["ab"]},
    "triples": {"data": [("a", 1, 2)]},
    "text as params": {"params": "ab"},
}


@tool
async def send(
    body: str, method: str | None = None, headers: dict[str, str] | None = None
) -> list[Any]:
    url = "https://api.example.com/items?a=1"
    given = BODIES[body]
    response = await fetch(url, method=method, headers=headers, **given)
    return [response.status, response.ok, response.json()]


@tool
def read() -> dict[str, Any]:
    response = fetch("https://api.example.com/file")
    return {
        "status": response.status,
        "ok": response.ok,
        "type": response.headers["Content-Type"],
        "missing": response.headers.get("x-missing"),
        "cookies": response.headers.get_list("set-cookie"),
        "text": response.text,
        "bytes": [len(part) for part in response.iter_bytes(4)],
        "lines": list(response.iter_lines()),
        "url": response.url,
    }


@tool
async def raises() -> str:
    return (await fetch("https://api.example.com/none")).raise_for_status().text


@tool
async def handles() -> str:
    try:
        await fetch("https://other.example.com/")
    except FetchError as error:
        return f"refused: {error}"
    return ""


@tool
async def unhandled() -> str:
    return (await fetch("https://other.example.com/")).text


@tool
def decoded(data: bytes, encoding: str) -> str:
    return data.decode(encoding)


@tool
def encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding)
