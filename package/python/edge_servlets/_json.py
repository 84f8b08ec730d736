"""Values as JSON, of which nothing is lost in silence."""

import dataclasses
from binascii import b2a_base64
from json import encoder
from json.decoder import JSONDecoder
from typing import Any

_decoder = JSONDecoder()
decode = _decoder.decode
"""The value of a text that may be JSON. Raises a `ValueError` where it is not."""


def decode_bytes(data: bytes) -> Any:
    """The value of JSON that the host has written."""
    return _decoder.scan_once(data.decode(), 0)[0]


def plain(value: object) -> object:
    """What JSON has of a value that is none of its own types. Raises a `TypeError` that says what to give instead."""
    kind = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}  # type: ignore[arg-type]
    if hasattr(kind, "parse_obj"):
        # In its schema, what is optional may be missing, and not null.
        return value.dict(exclude_none=True)  # type: ignore[attr-defined]
    for base in kind.__mro__:
        make = _PLAIN.get(f"{base.__module__}.{base.__qualname__}")
        if make is not None:
            return make(value)
    advice = (
        "await it"
        if hasattr(kind, "__await__")
        else "make it a list"
        if hasattr(kind, "__next__")
        else "give a dict, a dataclass or a text"
    )
    raise TypeError(f"{_named(kind)} is no JSON: {advice}")


def _named(kind: type) -> str:
    name = kind.__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def _duration(value: Any) -> str:
    """A timedelta as ISO 8601 has it."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f"{seconds}.{value.microseconds:06}".rstrip("0") if value.microseconds else str(seconds)
    day = f"{value.days}D" if value.days else ""
    return f"{sign}P{day}T{hours}H{minutes}M{rest}S"


def base64(data: Any) -> str:
    return b2a_base64(data, newline=False).decode()


# By name, so that no module is loaded that the servlet does not use.
_PLAIN: dict[str, Any] = {
    "enum.Enum": lambda value: value.value,
    "builtins.set": list,
    "builtins.frozenset": list,
    "collections.deque": list,
    "builtins.dict_keys": list,
    "builtins.dict_values": list,
    "builtins.dict_items": list,
    "builtins.range": list,
    "builtins.mappingproxy": dict,
    "collections.ChainMap": dict,
    "collections.UserDict": dict,
    "collections.UserList": list,
    "collections.UserString": str,
    "builtins.bytes": base64,
    "builtins.bytearray": base64,
    "builtins.memoryview": base64,
    "datetime.date": lambda value: value.isoformat(),
    "datetime.time": lambda value: value.isoformat(),
    "datetime.timedelta": _duration,
    "decimal.Decimal": str,
    "fractions.Fraction": str,
    "uuid.UUID": str,
    "pathlib.PurePath": str,
    "pathlib._local.PurePath": str,
}

quote = encoder.c_encode_basestring or encoder.encode_basestring
"""A text as JSON."""

_cycles: dict[int, object] = {}
_write = encoder.c_make_encoder(_cycles, plain, quote, None, ":", ",", False, False, False)


def encode(value: object) -> str:
    """The value as JSON. Raises a `TypeError` or `ValueError` whose notes say where JSON cannot express it."""
    try:
        return "".join(_write(value, 0))
    except BaseException as error:
        _cycles.clear()
        if not (isinstance(error, TypeError) and str(error).startswith("keys must be ")):
            raise
    return "".join(_write(_with_plain_keys(value), 0))


_SCALARS = (str, int, float, bool, type(None))


def _with_plain_keys(value: Any) -> Any:
    """The value with texts for keys that JSON has none of, such as dates."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, dict):
        made: dict[str, object] = {}
        for key, one in value.items():
            text = _plain_key(key)
            if text in made:
                raise TypeError(f"two keys become {quote(text)} in JSON: give texts that differ")
            made[text] = _with_plain_keys(one)
        return made
    if isinstance(value, (list, tuple)):
        return [_with_plain_keys(one) for one in value]
    return _with_plain_keys(plain(value))


def _plain_key(key: object) -> str:
    try:
        made = key if isinstance(key, _SCALARS) else plain(key)
    except TypeError:
        made = key
    if isinstance(made, str):
        return made
    if isinstance(made, _SCALARS):
        return encode(made)
    raise TypeError(f"{_named(type(key))} cannot be a key of JSON: give a text")


def encode_of(value: object, what: str) -> str:
    """`encode` of what an author's function has given. Raises a `TypeError` that names the place."""
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        notes = getattr(error, "__notes__", ())
        place = "".join(f", {note}" for note in notes)
        raise TypeError(f"{what} is not JSON: {error}{place}.") from None


def encode_or_text(value: object) -> object:
    """The value as it is, or as text where JSON cannot express it: for logs, which must not fail."""
    try:
        encode(value)
    except Exception:
        return repr(value)
    return value
