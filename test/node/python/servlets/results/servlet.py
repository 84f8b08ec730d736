from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple, TypedDict
from uuid import UUID

from edge_servlets import (
    Audio,
    EmbeddedResource,
    File,
    Image,
    ResourceContents,
    ResourceLink,
    Text,
    ToolResult,
    tool,
)

PNG = b"\x89PNG"


class Colour(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


class Movie(TypedDict):
    name: str
    year: int


@dataclass
class Order:
    size: Literal["small", "large"]
    count: int = 1


@dataclass
class Large(Order):
    extra: str = "cream"


@dataclass
class Square:
    side: int
    area: int = field(init=False)

    def __post_init__(self) -> None:
        self.area = self.side**2


@dataclass
class Everything:
    when: datetime
    day: date
    long: timedelta
    price: Decimal
    id: UUID
    path: PurePosixPath
    raw: bytes
    colours: set[Colour]
    point: Point
    movie: Movie
    orders: list[Order]


@tool
def text() -> str:
    return "é"


@tool
def nothing() -> None: ...


@tool
def number() -> int:
    return 4


@tool
def truth() -> bool:
    return True


@tool
def choice() -> Colour:
    return Colour.RED


@tool
def order() -> Order:
    return Order("small")


@tool
def movie() -> Movie:
    return {"name": "Dune", "year": 2021}


@tool
def movies() -> list[Movie]:
    return [{"name": "Dune", "year": 2021}]


@tool
def counts() -> dict[str, int]:
    return {"a": 1}


@tool
def maybe(there: bool) -> Order | None:
    return Order("large") if there else None


@tool
def everything() -> Everything:
    return Everything(
        datetime(2026, 1, 2, tzinfo=UTC),
        date(2026, 1, 2),
        timedelta(days=1, seconds=90, milliseconds=500),
        Decimal("1.10"),
        UUID(int=1),
        PurePosixPath("/a"),
        b"hi",
        {Colour.RED},
        Point(1, 2),
        {"name": "Dune", "year": 2021},
        [Order("small")],
    )


@tool
def picture() -> Image:
    return Image(data=PNG)


@tool
def blocks() -> list[Text | Image | str]:
    return ["one", Text("two", annotations={"priority": 0.5}), Image(data=PNG, format="jpg")]


@tool
def bare_list() -> list:  # pyright: ignore
    return ["Here:", Image(data=PNG), {"a": 1}]


@tool
def any_list() -> list[Any]:
    return [Image(data=PNG)]


@tool
def sequence() -> Sequence[Text | Image]:
    return [Image(data=PNG)]


@tool
def maybe_list() -> list[Image] | None:
    return [Image(data=PNG)]


@tool
def or_picture() -> Order | Image:
    return Image(data=PNG)


@tool
def number_or_pictures(there: bool) -> int | list[Image]:
    return [Image(data=PNG)] if there else 4


@tool
def text_or_picture() -> str | Image | None:
    return "sold out"


@tool
def contents_or_none() -> list[ResourceContents] | None:
    return [ResourceContents("a")]


@tool
def generates() -> Generator[Any, None, None]:
    yield Image(data=PNG)


@tool
def yields_blocks() -> Iterator[str | Image]:
    yield "Here:"
    yield Image(data=PNG)


@tool
def numbers() -> list:  # pyright: ignore
    return [1, "a"]


@tool
def yields() -> Iterator[str]:
    yield "a"
    yield "b"


@tool
def keys() -> dict[date, dict[Colour, dict[UUID, int]]]:
    return {date(2026, 1, 2): {Colour.RED: {UUID(int=1): 1}}}


@tool
def subclass() -> Order:
    return Large("small")


@tool
def square() -> Square:
    return Square(3)


@tool
def media() -> list[Audio | File | ResourceLink | EmbeddedResource]:
    return [
        Audio(data=b"a", format="mp3"),
        File(data=b"a,b", name="a.csv"),
        File(data=b"x", format="pdf"),
        ResourceLink("note://a", "a", title="A", size=3),
        EmbeddedResource("note://b", text="b", mime_type="text/plain"),
    ]


@tool
def raw() -> bytes:
    return b"hi"


@tool
def whole() -> ToolResult:
    return ToolResult("A text", {"a": 1}, meta={"m": 1})


@tool
def structured() -> ToolResult:
    return ToolResult(structured_content={"a": 1})


@tool
def failed() -> ToolResult:
    return ToolResult([Text("No")], is_error=True)


@tool
def either(ok: bool) -> Order | ToolResult:
    return Order("small") if ok else ToolResult("sold out", is_error=True)


UNTYPED: dict[str, Callable[[], Any]] = {
    "text": lambda: "a",
    "none": lambda: None,
    "number": lambda: 1.5,
    "dict": lambda: {"a": [1, None]},
    "list": lambda: [1, 2],
    "texts": lambda: ["a", "b"],
    "blocks": lambda: [Text("a"), "b"],
    "order": lambda: Order("small"),
    "date": lambda: date(2026, 1, 2),
    "deque": lambda: deque([1]),
    "range": lambda: range(2),
    "items": lambda: {"a": 1}.items(),
    "contents": lambda: ResourceContents("a", uri="note://a"),
    "no_uri": lambda: [ResourceContents("a")],
    "one_no_uri": lambda: ResourceContents("a"),
    "mixed_no_uri": lambda: ["b", Text("b"), ResourceContents("a")][1:],
    "tuple_key": lambda: {(1, 2): 1},
    "object_key": lambda: {object(): 1},
    "same_keys": lambda: {date(2026, 1, 2): 1, "2026-01-02": 2},
    "surrogate": lambda: "a\ud800",
    "nan": lambda: {"a": [1, float("nan")]},
    "object": lambda: {"a": object()},
    "generator": lambda: (one for one in "ab"),
    "cycle": lambda: (made := {}).update(a=made) or made,
}

for _name, _make in UNTYPED.items():
    tool(f"untyped_{_name}")(_make)
