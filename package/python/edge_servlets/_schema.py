"""Type hints as JSON Schema, and as functions that check and convert values of JSON.

All is made once, while the servlet is built: a call runs closures.
"""

import dataclasses
import re
import types
import typing
from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import MISSING, InitVar, is_dataclass
from enum import Enum, Flag
from inspect import Parameter
from math import isfinite
from sys import float_info
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from . import _json
from ._errors import DefinitionError
from ._patterns import ecma_of

type Json = dict[str, Any]
type Convert = Callable[[Any], Any]


class Shape(NamedTuple):
    """The values of a type: their schema, and a function that makes one of JSON, or raises `Mismatch`."""

    schema: Json
    convert: Convert


class Mismatch(Exception):
    """A value does not fit. Its path is put together on the way up."""

    def __init__(self, expected: str, value: object = MISSING) -> None:
        super().__init__(expected)
        self.expected = expected
        self.value = value
        self.path: list[str | int] = []

    def within(self, step: str | int) -> Mismatch:
        self.path.insert(0, step)
        return self

    def __str__(self) -> str:
        place = ""
        for step in self.path:
            place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
        text = (
            self.expected
            if self.value is MISSING
            else f"{self.expected} is expected, not {_shown(self.value)}"
        )
        return f"{place}: {text}" if place else text


def _shown(value: object) -> str:
    try:
        text = _json.encode(value)
    except ValueError:
        # A number of a text that is more than JSON has, such as `NaN`.
        text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class FieldInfo:
    """What `Field` says of a value."""

    def __init__(self, default: object, members: Json) -> None:
        self.default = default
        for name, value in members.items():
            setattr(self, name, value)


def is_field(default: object) -> bool:
    """True for the `Field` of a parameter, and for that of pydantic 1."""
    return type(default).__name__ == "FieldInfo"


def default_of(field: Any) -> object:
    """The default that a `Field` gives, or `MISSING`, of which pydantic's are `...` and its own."""
    default = getattr(field, "default", MISSING)
    return MISSING if default is ... or type(default).__name__ == "UndefinedType" else default


_FIELD_ADVICE = {
    "alias": "name the parameter or the member as callers are to name it",
    "discriminator": "leave it out: members of a union are told apart by their Literals",
    "regex": "write `pattern`",
}


def Field(
    default: Any = MISSING,
    *,
    default_factory: Callable[[], Any] | None = None,
    title: str | None = None,
    description: str | None = None,
    examples: list[Any] | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    multiple_of: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    json_schema_extra: dict[str, Any] | None = None,
    **others: Any,
) -> Any:
    """Describes and limits a value: in `Annotated[int, Field(ge=1)]`, or as a parameter's default.

    Example:
        def page(number: Annotated[int, Field(ge=1, description="From 1")] = 1) -> str: ...
    """
    for name in others:
        raise DefinitionError(f"Field has no `{name}`: {_FIELD_ADVICE.get(name, 'leave it out')}.")
    return FieldInfo(
        default,
        {name: value for name, value in locals().items() if name not in ("default", "others")},
    )


# --- scalars

_NONE = type(None)


def _scalar(expected: str, kind: type) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise Mismatch(expected, value)

    return convert


def _to_int(value: Any) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise Mismatch("an integer", value)


_FLOAT_MAX = float_info.max


def _to_float(value: Any) -> Any:
    if type(value) is float and isfinite(value):
        return value
    if type(value) is int and -_FLOAT_MAX <= value <= _FLOAT_MAX:
        return float(value)
    raise Mismatch("a number", value)


def _as_is(value: Any) -> Any:
    return value


ANY = Shape({}, _as_is)

_SCALARS: dict[object, Shape] = {
    str: Shape({"type": "string"}, _scalar("a string", str)),
    int: Shape({"type": "integer"}, _to_int),
    float: Shape({"type": "number"}, _to_float),
    bool: Shape({"type": "boolean"}, _scalar("true or false", bool)),
    _NONE: Shape({"type": "null"}, _scalar("null", _NONE)),
    None: Shape({"type": "null"}, _scalar("null", _NONE)),
    Any: ANY,
    object: ANY,
    Parameter.empty: ANY,
}


# --- types with a text of their own. By name, so that no module is loaded that the servlet does not use.


def _text(
    expected: str,
    read: Callable[[Any, str], Any],
    output: Json | None = None,
    **keywords: str | list[str],
) -> Callable[[Any, bool], Shape]:
    """A type whose values are texts in JSON, with these keywords; `read` is given the class and a text."""
    schema: Json = {"type": "string", **keywords}

    def shape(kind: Any, is_output: bool) -> Shape:
        def convert(value: Any) -> Any:
            if type(value) is str:
                try:
                    return read(kind, value)
                except ValueError, ArithmeticError:
                    pass
            raise Mismatch(expected, value)

        return Shape(output if is_output and output is not None else schema, convert)

    return shape


def _of_iso(kind: Any, text: str) -> Any:
    return kind.fromisoformat(text)


def _of_base64(kind: Any, text: str) -> Any:
    return kind(a2b_base64("".join(text.split()), strict_mode=True))


def _of_text(kind: Any, text: str) -> Any:
    return kind(text)


_DURATION = re.compile(
    r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE | re.ASCII,
)


def _read_duration(kind: Any, text: str) -> Any:
    found = _DURATION.fullmatch(text)
    if found is None or text[-1] in "PpTt":
        raise ValueError
    sign, *parts = found.groups()
    weeks, days, hours, minutes, seconds = (float(part or 0) for part in parts)
    made = kind(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -made if sign == "-" else made


def _decimal(kind: Any, output: bool) -> Shape:
    def convert(value: Any) -> Any:
        if type(value) in (int, float, str):
            try:
                made = kind(str(value))
                if made.is_finite():
                    return made
            except ArithmeticError:
                pass
        raise Mismatch("a decimal number", value)

    return Shape({"type": "string"} if output else {"type": ["number", "string"]}, convert)


_PATH = _text("a path", _of_text, format="path")
_BYTES = _text("base64", _of_base64, contentEncoding="base64")

_NAMED: dict[str, Callable[[Any, bool], Shape]] = {
    # Formats are narrower than what functions return: times without an offset, parts of seconds.
    "datetime.datetime": _text(
        "a time such as 2026-11-25T10:00:00Z",
        _of_iso,
        output={"type": "string"},
        format="date-time",
    ),
    "datetime.date": _text("a date such as 2026-11-25", _of_iso, format="date"),
    "datetime.time": _text("a time such as 10:00:00", _of_iso, examples=["10:00:00"]),
    "datetime.timedelta": _text(
        "a duration such as PT1H30M", _read_duration, output={"type": "string"}, format="duration"
    ),
    "uuid.UUID": _text("a UUID", _of_text, format="uuid"),
    "builtins.bytes": _BYTES,
    "builtins.bytearray": _BYTES,
    "decimal.Decimal": _decimal,
    "pathlib.PurePath": _PATH,
    "pathlib._local.PurePath": _PATH,
}

_LISTS = {
    "builtins.list": list,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
    "collections.deque": None,
    "collections.abc.Sequence": list,
    "collections.abc.MutableSequence": list,
    "collections.abc.Collection": list,
    "collections.abc.Iterable": list,
    "collections.abc.Reversible": list,
    "collections.abc.Container": list,
    "collections.abc.Set": set,
    "collections.abc.MutableSet": set,
    "collections.UserList": None,
}
_MAPS = {
    "builtins.dict": dict,
    "collections.abc.Mapping": dict,
    "collections.abc.MutableMapping": dict,
    "collections.Counter": None,
    "collections.OrderedDict": None,
    "collections.defaultdict": None,
    "collections.ChainMap": None,
    "collections.UserDict": None,
    "builtins.mappingproxy": None,
}
# Of which a `defaultdict` makes what is missing: other types cannot be called without arguments.
_EMPTY = (int, float, str, bool, list, dict, set, frozenset, tuple)


def _arguments(kind: type, args: tuple[Any, ...], base: type) -> tuple[Any, ...]:
    """The type arguments of a base of this class, which has these itself: `class Tags(list[str])` has those of a list[str]."""
    parameters = getattr(kind, "__type_params__", ()) or getattr(kind, "__parameters__", ())
    # Those of the library, such as an Iterator, name no parameters.
    if kind is base or (args and not parameters):
        return args
    bound = dict(zip(parameters, args))
    for one in types.get_original_bases(kind):
        origin = get_origin(one) or one
        if isinstance(origin, type) and base in origin.__mro__:
            return _arguments(origin, tuple(bound.get(arg, arg) for arg in get_args(one)), base)
    return ()


def _maker(kind: Any, name: str, args: tuple[Any, ...]) -> Callable[[Json], Any]:
    """What makes a mapping of a type, whose values have the last one of `args`."""
    if name != "collections.defaultdict":
        return kind
    item = args and (get_origin(args[-1]) or args[-1])
    return lambda made: kind(item if item in _EMPTY else None, made)


def _is_multiple(value: Any, limit: Any) -> bool:
    """True also where only the binary form of decimals keeps a number from being a multiple, as of 0.07 and 0.01."""
    if type(value) is int and type(limit) is int:
        return value % limit == 0
    times = float(value) / float(limit)
    return abs(times - round(times)) <= max(1e-9, abs(times) * 1e-15)


# Keywords of JSON Schema by the limits of `Field`, and what breaks one.
_LIMITS: dict[str, tuple[str, str, Callable[[Any, Any], bool]]] = {
    "ge": ("minimum", "a number of at least {}", lambda value, limit: value >= limit),
    "gt": ("exclusiveMinimum", "a number greater than {}", lambda value, limit: value > limit),
    "le": ("maximum", "a number of at most {}", lambda value, limit: value <= limit),
    "lt": ("exclusiveMaximum", "a number less than {}", lambda value, limit: value < limit),
    "multiple_of": (
        "multipleOf",
        "a multiple of {}",
        lambda value, limit: _is_multiple(value, limit),
    ),
    "min_length": ("min", "a length of at least {}", lambda value, limit: len(value) >= limit),
    "max_length": ("max", "a length of at most {}", lambda value, limit: len(value) <= limit),
    "pattern": (
        "pattern",
        "a text that fits {}",
        lambda value, limit: limit.search(value) is not None,
    ),
}
_LENGTHS = {"array": "Items", "object": "Properties"}


def name_of(hint: Any) -> str:
    """A type as its author has written it."""
    if isinstance(hint, type) and not get_args(hint):
        return hint.__name__
    return re.sub(r"\b\w+\.", "", str(hint))


def hints_of(thing: Any) -> dict[str, Any]:
    """The type hints of a function or a class. Raises a `DefinitionError` for names that are not known."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"the type hint `{error.name}` is not known. Import or define it where it is there at run time, and not within "
            "`if TYPE_CHECKING` or a function."
        ) from None


class Shapes:
    """Makes shapes whose schemas stand in one document, and share its definitions of recursive types.

    In the schema of an output, members with defaults are always there. In that of a form, one that may be None may be left
    out.
    """

    def __init__(self, *, output: bool = False, form: bool = False) -> None:
        self._output = output
        self._form = form
        self._names: dict[object, str] = {}
        """Of types that are being made, and of those that are definitions."""
        self._recursive: set[object] = set()
        self._made: dict[object, Shape] = {}
        self._bound: dict[Any, Any] = {}
        """Types by the type parameters that they are given for."""
        self.definitions: Json = {}

    def root(self, hint: Any) -> Shape:
        """The shape whose schema is the whole document."""
        schema, convert = self.of(hint)
        if self.definitions:
            if schema.keys() == {"$ref"}:
                schema = self.definitions[schema["$ref"].rpartition("/")[2]]
            schema = {**schema, "$defs": self.definitions}
        return Shape(schema, convert)

    def of(self, hint: Any) -> Shape:
        try:
            found = _SCALARS.get(hint)
        except TypeError:
            found = None
        if found is not None:
            return found
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self._annotated(args[0], args[1:])
        args = tuple(
            self._bound.get(one, one) if isinstance(one, typing.TypeVar) else one for one in args
        )
        if origin is Literal:
            return _choice(list(args))
        if origin is Union or origin is types.UnionType:
            return self._union(args)
        if origin in (typing.Required, typing.NotRequired, typing.ReadOnly, typing.Final):
            return self.of(args[0])
        kind = origin or hint
        if isinstance(kind, typing.TypeAliasType):
            return self._named(kind, args, lambda: self.of(kind.__value__))
        if isinstance(hint, typing.TypeVar):
            return self.of(self._bound.get(hint, hint.__bound__ or Any))
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        found = self._of_class(kind, args) if isinstance(kind, type) else None
        if found is not None:
            return found
        if isinstance(hint, (str, typing.ForwardRef)):
            name = hint if isinstance(hint, str) else hint.__forward_arg__
            raise DefinitionError(
                f"the type hint `{name}` cannot be resolved here. If it is an alias that names itself, write `type {name} = ...`; "
                "otherwise define or import it at module scope, not only under `if TYPE_CHECKING`, and name it without quotes."
            )
        raise DefinitionError(
            f"{name_of(hint)} has no JSON Schema. Use a dataclass, TypedDict, NamedTuple, Enum or Literal, types of JSON such as "
            "list[str], or a type of datetime, decimal, uuid or pathlib."
        )

    def _of_class(self, kind: type, args: tuple[Any, ...]) -> Shape | None:
        if issubclass(kind, Flag):
            return _flags(kind)
        if issubclass(kind, Enum):
            return _choice(list(kind))
        if is_dataclass(kind):
            return self._named(kind, args, lambda: self._dataclass(kind))
        # That of typing_extensions is none to `is_typeddict`.
        if hasattr(kind, "__required_keys__"):
            return self._named(kind, args, lambda: self._typed_dict(kind))
        if hasattr(kind, "parse_obj"):
            return self._model(kind)
        if issubclass(kind, tuple):
            if hasattr(kind, "_fields"):
                return self._named(kind, args, lambda: self._named_tuple(kind))
            return self._tuple(args)
        for base in kind.__mro__:
            name = f"{base.__module__}.{base.__qualname__}"
            if name in _NAMED:
                return _NAMED[name](kind, self._output)
            if name in _LISTS:
                return self._list(_LISTS[name] or kind, _arguments(kind, args, base))
            if name in _MAPS:
                args = _arguments(kind, args, base)
                if name == "collections.Counter":
                    args = (*(args or [Any]), int)
                return self._map(_maker(_MAPS[name] or kind, name, args), args)
        return None

    def _named(self, kind: Any, args: tuple[Any, ...], make: Callable[[], Shape]) -> Shape:
        """The shape of a class or an alias. One that is met again while it is made is a definition."""
        key = (kind, args)
        name = self._names.get(key)
        if name is not None:
            self._recursive.add(key)
            return Shape({"$ref": f"#/$defs/{name}"}, lambda value: self._made[key].convert(value))
        name = kind.__name__
        while name in self._names.values():
            name += "_"
        self._names[key] = name
        outer = self._bound
        parameters = getattr(kind, "__type_params__", ()) or getattr(kind, "__parameters__", ())
        self._bound = {**outer, **dict(zip(parameters, args))}
        shape = make()
        self._bound = outer
        if key not in self._recursive:
            # One that stands in several places is written there: not all clients follow references.
            del self._names[key]
            return shape
        self._made[key] = shape
        self.definitions[name] = shape.schema
        return Shape({"$ref": f"#/$defs/{name}"}, shape.convert)

    def _annotated(self, hint: Any, extras: tuple[Any, ...]) -> Shape:
        shape = self.of(hint)
        for extra in extras:
            shape = described(shape, extra)
        return shape

    def _union(self, args: tuple[Any, ...]) -> Shape:
        members = [one for one in args if one is not _NONE]
        is_optional = len(members) < len(args)
        shapes = [self.of(one) for one in members]
        convert = shapes[0].convert if len(shapes) == 1 else _first_of(members, shapes)
        if self._form and len(shapes) == 1:
            return Shape(shapes[0].schema, _or_none(convert) if is_optional else convert)
        schemas = [one.schema for one in shapes]
        if is_optional:
            schemas.append(_SCALARS[None].schema)
            convert = _or_none(convert)
        return Shape({} if {} in schemas else {"anyOf": schemas}, convert)

    def _list(self, kind: Any, args: tuple[Any, ...]) -> Shape:
        item = self.of(args[0]) if args else ANY
        is_set = issubclass(kind, (set, frozenset))
        schema: Json = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}
        if is_set:
            schema["uniqueItems"] = True
        convert_item = None if item.convert is _as_is else item.convert

        def convert(value: Any) -> Any:
            if type(value) is not list:
                raise Mismatch("an array", value)
            found = value if convert_item is None else _each(convert_item, value)
            try:
                return found if kind is list else kind(found)
            except TypeError:
                raise Mismatch("an array of what can be in a set", value) from None

        return Shape(schema, convert)

    def _tuple(self, args: tuple[Any, ...]) -> Shape:
        if not args:
            return Shape({"type": "array"}, lambda value: tuple(_demand(value, list, "an array")))
        if len(args) == 2 and args[1] is Ellipsis:
            schema, convert_list = self._list(list, args[:1])
            return Shape(schema, lambda value: tuple(convert_list(value)))
        return self._items([self.of(one) for one in args], tuple, 0)

    def _named_tuple(self, kind: Any) -> Shape:
        hints = hints_of(kind)
        shapes = [self.of(hints.get(name, Any)) for name in kind._fields]
        shapes = [
            Shape({"title": name, **schema}, convert)
            for name, (schema, convert) in zip(kind._fields, shapes)
        ]
        return self._items(shapes, lambda values: kind(*values), len(kind._field_defaults))

    def _items(self, shapes: list[Shape], make: Callable[[list[Any]], Any], optional: int) -> Shape:
        most = len(shapes)
        least = most if self._output else most - optional
        schemas = [one.schema for one in shapes]
        schema: Json = {
            "type": "array",
            "prefixItems": schemas,
            "minItems": least,
            "maxItems": most,
        }

        def convert(value: Any) -> Any:
            _demand(value, list, "an array")
            if not least <= len(value) <= most:
                raise Mismatch(f"an array of {most} items", value)
            made: list[Any] = []
            for at, one in enumerate(value):
                try:
                    made.append(shapes[at].convert(one))
                except Mismatch as wrong:
                    raise wrong.within(at)
            return make(made)

        return Shape(schema, convert)

    def _map(self, make: Callable[[Json], Any], args: tuple[Any, ...]) -> Shape:
        key, item = (self.of(one) for one in args) if len(args) == 2 else (ANY, ANY)
        schema: Json = {"type": "object"}
        if item.schema:
            schema["additionalProperties"] = item.schema
        if (
            key.schema not in ({}, {"type": "string"})
            and key.schema.get("type", "string") == "string"
        ):
            schema["propertyNames"] = key.schema
        convert_key = _as_is if args and args[0] in (str, Any) else from_text(key.convert)
        convert_item = item.convert

        def convert(value: Any) -> Any:
            if type(value) is not dict:
                raise Mismatch("an object", value)
            made = {}
            for name, one in value.items():
                try:
                    made[convert_key(name)] = convert_item(one)
                except Mismatch as wrong:
                    raise wrong.within(name)
            return made if make is dict else make(made)

        return Shape(schema, convert)

    def _dataclass(self, kind: Any) -> Shape:
        hints = hints_of(kind)
        members: dict[str, Member] = {}
        for field in _members_of(kind, self._output):
            hint = hints[field.name]
            default = field.default
            if is_field(default):
                advice = f"Annotated[{name_of(hint)}, Field(...)]"
                raise DefinitionError(
                    f"{kind.__name__}.{field.name}: in a dataclass, a Field is no default. Write `{field.name}: {advice}`."
                )
            is_needed = default is MISSING and field.default_factory is MISSING
            # An `InitVar` is no type.
            shape = self.of(hint.type if type(hint) is InitVar else hint)
            members[field.name] = Member(shape, is_needed or self._output, default)
        return self.record(members, kind)

    def _typed_dict(self, kind: Any) -> Shape:
        members: dict[str, Member] = {}
        for name, hint in hints_of(kind).items():
            is_needed = name in kind.__required_keys__
            while (origin := get_origin(hint)) in (
                typing.Required,
                typing.NotRequired,
                typing.ReadOnly,
            ):
                # Where hints are texts, the class itself has not seen these.
                is_needed = {typing.Required: True, typing.NotRequired: False}.get(
                    origin, is_needed
                )
                hint = get_args(hint)[0]
            members[name] = Member(self.of(hint), is_needed)
        return self.record(members, is_open=True)

    def _model(self, kind: Any) -> Shape:
        """A model of pydantic 1, which makes its schema and its checks itself."""
        schema = _with_patterns(kind.schema(ref_template="#/$defs/{model}"))
        self.definitions.update(schema.pop("definitions", {}))

        def convert(value: Any) -> Any:
            try:
                return kind.parse_obj(value)
            except ValueError as error:
                first = error.errors()[0]  # type: ignore[attr-defined]
                wrong = Mismatch(first["msg"])
                wrong.path = [step for step in first["loc"] if step != "__root__"]
                raise wrong from None

        return Shape(schema, convert)

    def record(
        self,
        members: dict[str, Member],
        make: Callable[..., Any] | None = None,
        is_open: bool = False,
        ignores_others: bool = False,
    ) -> Shape:
        """An object with these members, as a dict or as what `make` makes of them."""
        properties: Json = {}
        for name, (shape, _, default) in members.items():
            is_absent = default is MISSING or (self._form and default is None)
            properties[name] = shape.schema if is_absent else _with_default(shape.schema, default)
        needed = [name for name, member in members.items() if member.is_needed]
        schema: Json = {"type": "object", "properties": properties}
        if needed:
            schema["required"] = needed
        # A function may return a subclass with more members.
        if not (is_open or ignores_others or self._output):
            schema["additionalProperties"] = False
        converters = {name: member.shape.convert for name, member in members.items()}

        def convert(value: Any) -> Any:
            if type(value) is not dict:
                raise Mismatch("an object", value)
            made = {}
            for name, one in value.items():
                member = converters.get(name)
                if member is not None:
                    try:
                        made[name] = member(one)
                    except Mismatch as wrong:
                        raise wrong.within(name)
                elif is_open:
                    made[name] = one
                elif not ignores_others:
                    known = ", ".join(converters)
                    raise Mismatch(f"unknown, expected one of {known}").within(name)
            for name in needed:
                if name not in made:
                    raise Mismatch("required").within(name)
            if make is None:
                return made
            try:
                return make(**made)
            except ValueError as error:
                raise Mismatch(str(error) or type(error).__name__) from error

        return Shape(schema, convert)


def _members_of(kind: Any, is_output: bool) -> list[dataclasses.Field[Any]]:
    """The fields that an object of a dataclass has, or the parameters that it is made of, of which some are no fields."""
    if is_output:
        return list(dataclasses.fields(kind))
    known = kind.__dataclass_fields__.values()
    return [one for one in known if one.init and one._field_type is not _CLASS_VARIABLE]


_CLASS_VARIABLE = dataclasses._FIELD_CLASSVAR  # type: ignore[attr-defined]


class Member(NamedTuple):
    """A member of an object, or a parameter of a function."""

    shape: Shape
    is_needed: bool
    default: object = MISSING


def _with_default(schema: Json, default: object) -> Json:
    try:
        plain = _json.encode(default)
    except TypeError, ValueError:
        return schema
    return {**schema, "default": _json.decode(plain)}


def _demand(value: Any, kind: type, expected: str) -> Any:
    if type(value) is not kind:
        raise Mismatch(expected, value)
    return value


def _each(convert: Convert, values: list[Any]) -> list[Any]:
    made: list[Any] = []
    try:
        for one in values:
            made.append(convert(one))
    except Mismatch as wrong:
        raise wrong.within(len(made))
    return made


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _choice(values: list[Any]) -> Shape:
    """One of these values: of JSON, or members of an Enum, which stand for their values."""
    if not values:
        raise DefinitionError("there is nothing to choose from. Give it values.")
    plain = [one.value if isinstance(one, Enum) else one for one in values]
    for one in plain:
        if type(one) not in (str, int, float, bool, _NONE) and not isinstance(one, (str, int)):
            raise DefinitionError(
                f"{one!r} cannot be a choice: choices are texts, numbers, true, false or null."
            )
    plain = [_json.decode(_json.encode(one)) for one in plain]
    known = {(type(one), one): value for one, value in zip(plain, values)}
    kinds = {type(one) for one in plain}
    expected = " or ".join(_json.encode(one) for one in plain)

    def convert(value: Any) -> Any:
        try:
            return known[type(value), value]
        except KeyError, TypeError:
            raise Mismatch(expected if len(plain) < 20 else f"one of {expected}", value) from None

    kind = _SCALARS[kinds.pop()].schema if len(kinds) == 1 else {}
    return Shape({**kind, "enum": plain}, convert)


def _flags(kind: type[Flag]) -> Shape:
    """Flags that are combined by `|`: the sum of their values."""
    values = {one.name: one.value for one in kind}
    most = sum(values.values())
    expected = "a sum of " + ", ".join(f"{value} ({name})" for name, value in values.items())

    def convert(value: Any) -> Any:
        number = _to_int(value)
        if 0 <= number <= most:
            try:
                return kind(number)
            except ValueError:
                pass
        raise Mismatch(expected, value)

    schema: Json = {"type": "integer", "minimum": 0, "maximum": most}
    return Shape({**schema, "description": f"A{expected[1:]}"}, convert)


def _first_of(members: list[Any], shapes: list[Shape]) -> Convert:
    """The value as the first type that it fits; a scalar that is of one of the types stays as it is."""
    exact = {kind for kind in (str, int, float, bool) if any(one is kind for one in members)}
    converters = [one.convert for one in shapes]
    names = " or ".join(map(name_of, members))

    def convert(value: Any) -> Any:
        if type(value) in exact:
            return value
        wrongs: list[Mismatch] = []
        for one in converters:
            try:
                return one(value)
            except Mismatch as wrong:
                wrongs.append(wrong)
        # The one that went deepest is likely the one that was meant.
        deepest = max(wrongs, key=lambda wrong: len(wrong.path))
        raise deepest if deepest.path else Mismatch(names, value)

    return convert


def described(shape: Shape, extra: Any) -> Shape:
    """The shape with what a description or a `Field` adds; objects of other libraries with the same attributes work too."""
    if isinstance(extra, str):
        return Shape({**shape.schema, "description": extra}, shape.convert)
    schema, convert = dict(shape.schema), shape.convert
    checks: list[tuple[Callable[[Any, Any], bool], Any, str]] = []
    for name, (keyword, expected, fits) in _LIMITS.items():
        limit = getattr(extra, name, None)
        if limit is None:
            continue
        if name == "pattern":
            limit = _pattern(limit)
            checks.append((fits, limit, expected.format(limit.pattern)))
            schema.update(_said_of(limit))
            continue
        if keyword in ("min", "max"):
            kind = schema.get("type") or next(
                (one.get("type") for one in schema.get("anyOf", ()) if "type" in one), "string"
            )
            keyword += _LENGTHS.get(kind, "Length")
        if isinstance(limit, (int, float, str)):
            schema[keyword] = limit
        checks.append((fits, limit, expected.format(limit)))
    for name in ("title", "description", "examples"):
        value = getattr(extra, name, None)
        # Methods of foreign objects are none of these.
        if value is not None and not callable(value):
            schema[name] = value
    schema.update(getattr(extra, "json_schema_extra", None) or {})
    return Shape(schema, _checked(convert, checks) if checks else convert)


def _pattern(given: Any) -> re.Pattern[str]:
    try:
        compiled = re.compile(given)
    except (re.error, TypeError) as error:
        raise DefinitionError(f"`{given}` is not a regular expression: {error}.") from None
    if isinstance(compiled.pattern, bytes):
        raise DefinitionError(f"{given!r} is a regular expression of bytes. Write one of text.")
    return compiled


def _said_of(pattern: re.Pattern[str]) -> Json:
    """What a schema says of a pattern: nothing where ECMA-262 cannot, as whoever reads it would refuse it. It is checked here."""
    said = ecma_of(pattern)
    return {} if said is None else {"pattern": said}


def _with_patterns(schema: Any) -> Any:
    """A schema whose patterns are of Python."""
    if isinstance(schema, list):
        return [_with_patterns(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: Json = {}
    for name, value in schema.items():
        if name == "pattern" and isinstance(value, str):
            made |= _said_of(_pattern(value))
        else:
            made[name] = value if name in _VALUES else _with_patterns(value)
    return made


_VALUES = ("default", "examples", "example", "enum", "const")


def _checked(
    convert: Convert, checks: list[tuple[Callable[[Any, Any], bool], Any, str]]
) -> Convert:
    def checked(value: Any) -> Any:
        made = convert(value)
        if made is not None:
            for fits, limit, expected in checks:
                try:
                    is_fit = fits(made, limit)
                except ArithmeticError:
                    # It is too large to be divided.
                    is_fit = False
                if not is_fit:
                    raise Mismatch(expected, value)
        return made

    return checked


def from_text(convert: Convert) -> Convert:
    """A converter of texts, such as arguments of prompts: of the text itself, else of the JSON that it is."""

    def converted(text: Any) -> Any:
        try:
            return convert(text)
        except Mismatch as wrong:
            try:
                value = _json.decode(text)
            except ValueError, RecursionError:
                raise wrong from None
        return convert(value)

    return converted
