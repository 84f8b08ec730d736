from enum import Enum
from typing import Annotated, Any, Literal

from edge_servlets import (
    Context,
    Image,
    Message,
    PromptResult,
    ResourceContents,
    prompt,
    resource,
)

BOOKS = {"dune": "Arrakis.", "emma": "Highbury."}


@resource("book://list", title="Books", mime_type="text/csv", size=9)
def books() -> str:
    """All books."""
    return ",".join(BOOKS)


@resource("book://json")
async def as_json() -> dict[str, Any]:
    return {"books": list(BOOKS)}


@resource("book://cover", mime_type="image/png")
def cover() -> bytes:
    return b"\x89PNG"


@resource("book://several")
def several() -> list[ResourceContents]:
    return [
        ResourceContents("a", mime_type="text/plain"),
        ResourceContents(b"b", uri="book://b"),
        ResourceContents({"c": 1}),
    ]


def titles(value: str) -> list[str]:
    return [title for title in BOOKS if title.startswith(value)]


async def pages(value: str, others: dict[str, str]) -> list[str]:
    return [f"{others.get('title')} {value}{page}" for page in (1, 2)]


def known(ctx: Context) -> list[dict[str, str]]:
    return [{"uri": f"book://{title}/1", "name": title} for title in BOOKS]


@resource(
    "book://{title}/{page}{?mode}", complete={"title": titles, "page": pages}, list=known
)
def book(
    title: str, page: int, ctx: Context, mode: Literal["short", "long"] = "short"
) -> str:
    return f"{BOOKS[title]} {page + 1} {mode} {ctx.id}"


@resource("file://{+path}")
def file(path: str) -> str:
    return path


class Tone(Enum):
    KIND = "kind"
    STRICT = "strict"


@prompt(complete={"title": titles})
def review(
    title: Annotated[str, "The book's title"], tone: Tone = Tone.KIND, words: int = 100
) -> str:
    """Asks for a review.

    Args:
        words: How long it is.
    """
    return f"Write a {tone.value} review of {title} in {words} words."


@prompt("talk", title="A talk")
async def talk(ctx: Context) -> list[Any]:
    return ["Hi", Message("Yes?", role="assistant"), Image(data=b"\x89PNG")]


@prompt
def described() -> PromptResult:
    return PromptResult("Hi", description="Of its own", meta={"a": 1})


@prompt
def raw() -> list[dict[str, Any]]:
    return [{"role": "user", "content": {"type": "text", "text": "Hi"}}]
