import collections
import typing
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, NewType, NotRequired, Required, TypedDict
from uuid import UUID

from edge_servlets import Field, tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: float
    y: float = 0


class Movie(TypedDict, total=False):
    name: Required[str]
    year: int


class Rated(Movie):
    stars: NotRequired[int]


class ForeignMovie(dict[str, Any]):
    """As a TypedDict of typing_extensions is at run time."""

    __required_keys__ = frozenset({"name"})
    __annotations__ = {"name": str, "year": int}  # noqa: RUF012


@dataclass
class Order:
    size: Literal["small", "large"]
    count: Annotated[int, Field(ge=1)] = 1
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Page[T]:
    items: list[T]
    next: Page[T] | None = None


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass
class Dog:
    kind: Literal["dog"]
    tricks: list[str]


@dataclass
class Positive:
    number: int

    def __post_init__(self) -> None:
        if self.number <= 0:
            raise ValueError("the number must be positive")


UserId = NewType("UserId", int)
type Json = dict[str, Json] | list[Json] | str | int | None
type Pair[T] = tuple[T, T]



class Rights(IntFlag):
    R = 4
    W = 2
    X = 1
    ALL = 7


class Sides(Flag):
    LEFT = 1
    RIGHT = 4


@dataclass
class Base:
    name: str
    seen: ClassVar[int] = 0
    made: str = field(init=False, default="made")


@dataclass(kw_only=True)
class Scaled(Base):
    width: Annotated[int, Field(ge=1)]
    factor: InitVar[Annotated[int, Field(ge=1)]]
    offset: InitVar[int] = 5
    area: int = field(init=False)

    def __post_init__(self, factor: int, offset: int) -> None:
        self.area = self.width * factor + offset


@dataclass
class Marked:
    text: str = "a"
    _: KW_ONLY
    mark: str


@dataclass(slots=True, order=True)
class Late(Marked):
    when: "date | None" = None
    text: str = "b"


class Tags(list[str]):
    pass


class Registry[T](dict[str, T]):
    pass


HINTS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "none": None,
    "any": Any,
    "optional": str | None,
    "union": int | str,
    "mixed": float | int,
    "literal": Literal["a", 1, None],
    "enum": Colour,
    "int_enum": Level,
    "list": list[list[int]],
    "bare_list": list,
    "dict": dict[str, int],
    "int_keys": dict[int, float],
    "enum_keys": dict[Colour, str],
    "set": set[str],
    "tuple": tuple[int, str],
    "tuples": tuple[int, ...],
    "named_tuple": Point,
    "typed_dict": Movie,
    "inherited": Rated,
    "foreign": ForeignMovie,
    "dataclass": Order,
    "recursive": Node,
    "generic": Page[int],
    "tagged": Cat | Dog,
    "checked": Positive,
    "new_type": UserId,
    "alias": Json,
    "generic_alias": Pair[int],
    "datetime": datetime,
    "date": date,
    "time": time,
    "timedelta": timedelta,
    "decimal": Decimal,
    "uuid": UUID,
    "path": Path,
    "bytes": bytes,
    "described": Annotated[str, "A text"],
    "limited": Annotated[int, Field(ge=1, lt=10, multiple_of=2, title="N", examples=[4])],
    "lengths": Annotated[list[int], Field(min_length=1, max_length=2)],
    "pattern": Annotated[str, Field(pattern="^a", min_length=2)],
    "any_set": set[Any],
    "tenths": Annotated[Decimal, Field(multiple_of=0.1)],
    "int_flag": Rights,
    "flag": Sides,
    "described_flag": Annotated[Rights, Field(description="Who")],
    "init_var": Scaled,
    "kw_only": Marked,
    "derived": Late,
    "counter": Counter[str],
    "bare_counter": collections.Counter,
    "ordered": OrderedDict[str, int],
    "defaults_to_list": defaultdict[str, list[int]],
    "defaults_to_date": defaultdict[str, date],
    "bare_defaults": defaultdict,
    "chain": ChainMap[str, int],
    "old_chain": typing.ChainMap[str, int],
    "mapping": Mapping[str, int],
    "bare_mapping": Mapping,
    "mutable": typing.MutableMapping[str, int],
    "proxy": MappingProxyType[str, int],
    "user_dict": UserDict[str, int],
    "registry": Registry[int],
    "tags": Tags,
    "frozen": frozenset[int],
    "bare_frozen": frozenset,
    "deque": deque[int],
    "old_deque": typing.Deque[int],
    "bare_deque": deque,
    "sequence": Sequence[int],
    "bare_sequence": Sequence,
    "iterable": Iterable[int],
    "collection": Collection[int],
    "abstract_set": AbstractSet[int],
    "mutable_set": typing.MutableSet[int],
    "user_list": UserList[int],
    "hundredths": Annotated[Decimal, Field(multiple_of=0.01)],
    "price": Annotated[float, Field(multiple_of=0.01)],
    "decimal_steps": Annotated[Decimal, Field(multiple_of=Decimal("0.01"))],
    "large_steps": Annotated[int, Field(multiple_of=3)],
    "extra": Annotated[str, Field(json_schema_extra={"format": "email"})],
    "forward": "Later",
}


def _define(name: str, hint: Any) -> None:
    def take(value):
        return f"{value!r}"

    take.__annotations__ = {"value": hint, "return": str}
    tool(f"take_{name}")(take)


for _name, _hint in HINTS.items():
    _define(_name, _hint)


def _built_never() -> list[int]:
    made.append(1)
    return []


made: list[int] = []


@tool
def defaults(
    a: int,
    b: int = 2,
    c: str | None = None,
    d: Order = Order("small"),
    e: int = Field(default=5, le=9),
    f: float = Field(description="Needed"),
    *,
    g: Annotated[int, Field(default=7, ge=1)],
    h: list[int] = Field(default_factory=_built_never, max_length=3),
) -> str:
    h.append(g)
    return f"{a} {b} {c} {d.size} {e} {f} {g} {h} {made}"


@dataclass
class Later:
    when: date


@tool
def scales(scaled: Scaled) -> Scaled:
    return scaled


@tool
def allows(rights: Rights = Rights.R | Rights.W) -> dict[str, Rights]:
    return {"rights": rights}
