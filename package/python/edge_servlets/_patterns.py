"""Regular expressions of Python, as JSON Schema has them: in ECMA-262 with the flag `u`.

They are written anew from what Python has parsed, so that what is sent never refuses a text that Python accepts, but for one: a
newline at the end, which `$` allows in Python and which nobody means.
"""

import re
from re import _constants as of, _parser  # type: ignore[attr-defined]
from typing import Any

# What a class matches, as the members of a class in ECMA-262: in a text, and with `re.ASCII`.
_CLASSES = {
    of.CATEGORY_DIGIT: (r"\p{Nd}", r"\d"),
    of.CATEGORY_WORD: (r"\p{L}\p{N}_", r"\w"),
    of.CATEGORY_SPACE: (r"\t-\r\x1c-\x1f\x85\p{Z}", r"\t-\r "),
}
_NEGATED = {
    of.CATEGORY_NOT_DIGIT: of.CATEGORY_DIGIT,
    of.CATEGORY_NOT_WORD: of.CATEGORY_WORD,
    of.CATEGORY_NOT_SPACE: of.CATEGORY_SPACE,
}
_TYPES = re.ASCII | re.LOCALE | re.UNICODE
_ANCHORS = {
    of.AT_BEGINNING: "^",
    of.AT_BEGINNING_STRING: "^",
    of.AT_END: "$",
    of.AT_END_STRING: "$",
}
_LOOKAROUNDS = {
    (of.ASSERT, 1): "?=",
    (of.ASSERT, -1): "?<=",
    (of.ASSERT_NOT, 1): "?!",
    (of.ASSERT_NOT, -1): "?<!",
}
_QUANTIFIERS = {(0, 1): "?", (0, of.MAXREPEAT): "*", (1, of.MAXREPEAT): "+"}
_ATOMS = (of.LITERAL, of.NOT_LITERAL, of.ANY, of.IN, of.SUBPATTERN, of.BRANCH)

_MOST_STATES = 3000
"""Of one pattern, with its repetitions written out: a server refuses a schema with a larger one."""
_MOST_LOOKAROUNDS = 16


class _NoCounterpart(Exception):
    """ECMA-262 cannot say the same."""


def ecma_of(pattern: re.Pattern[str]) -> str | None:
    """The same pattern in ECMA-262, or None where it has no exact counterpart."""
    parsed = _parser.parse(pattern.pattern, pattern.flags)
    writer = _Writer(parsed.state.groupdict)
    try:
        text = writer.within(parsed, parsed.state.flags)
    except _NoCounterpart:
        return None
    return text if writer.is_small and writer.lookarounds <= _MOST_LOOKAROUNDS else None


class _Writer:
    def __init__(self, groups: dict[str, int]) -> None:
        self._names = {number: name for name, number in groups.items() if name.isascii()}
        self._times = 1
        self._states = 0
        self.lookarounds = 0

    @property
    def is_small(self) -> bool:
        return self._states <= _MOST_STATES

    def within(self, parsed: Any, flags: int) -> str:
        """What stands between parentheses, or is the whole pattern."""
        if len(parsed) == 1 and parsed[0][0] is of.BRANCH:
            return self._choice(parsed[0][1], flags)
        return self._series(parsed, flags)

    def _choice(self, given: Any, flags: int) -> str:
        return "|".join(self._series(one, flags) for one in given[1])

    def _series(self, parsed: Any, flags: int) -> str:
        if flags & re.IGNORECASE:
            # Python and ECMA-262 differ in which letters are the same.
            raise _NoCounterpart
        return "".join(self._one(op, given, flags) for op, given in parsed)

    def _one(self, op: Any, given: Any, flags: int) -> str:
        self._states += self._times
        if op is of.LITERAL:
            return _escaped(given, r"^$\.*+?()[]{}|")
        if op is of.NOT_LITERAL:
            return f"[^{_member(given)}]"
        if op is of.ANY:
            return r"[\s\S]" if flags & re.DOTALL else r"[^\n]"
        if op is of.IN:
            return self._class(given, flags)
        if op is of.AT and given in _ANCHORS and not flags & re.MULTILINE:
            return _ANCHORS[given]
        if op is of.BRANCH:
            return f"(?:{self._choice(given, flags)})"
        if op is of.SUBPATTERN:
            number, added, removed, inner = given
            name = self._names.get(number)
            opening = "?:" if number is None else f"?<{name}>" if name else ""
            # Of `a`, `L` and `u` one holds.
            others = _TYPES if added & _TYPES else re.NOFLAG
            return f"({opening}{self.within(inner, (flags & ~others | added) & ~removed)})"
        if op in (of.MAX_REPEAT, of.MIN_REPEAT):
            return self._repeat(*given, flags) + ("?" if op is of.MIN_REPEAT else "")
        if op in (of.ASSERT, of.ASSERT_NOT):
            self.lookarounds += 1
            return f"({_LOOKAROUNDS[op, given[0]]}{self.within(given[1], flags)})"
        if op is of.FAILURE:
            self.lookarounds += 1
            return "(?!)"
        # Boundaries of words, backreferences, conditions, and groups that give nothing back.
        raise _NoCounterpart

    def _repeat(self, least: int, most: int, inner: Any, flags: int) -> str:
        outer = self._times
        self._times *= max(1, least + 1 if most is of.MAXREPEAT else most)
        text = self._series(inner, flags)
        self._times = outer
        if len(inner) != 1 or inner[0][0] not in _ATOMS:
            text = f"(?:{text})"
        if (least, most) in _QUANTIFIERS:
            return text + _QUANTIFIERS[least, most]
        if least == most:
            return f"{text}{{{least}}}"
        return f"{text}{{{least},{'' if most is of.MAXREPEAT else most}}}"

    def _class(self, members: Any, flags: int) -> str:
        is_ascii = bool(flags & re.ASCII)
        inside, apart = "", []
        is_negated = False
        for op, given in members:
            if op is of.NEGATE:
                is_negated = True
            elif op is of.LITERAL:
                inside += _member(given)
            elif op is of.RANGE:
                inside += f"{_member(given[0])}-{_member(given[1])}"
            elif given in _CLASSES:
                inside += _CLASSES[given][is_ascii]
            else:
                apart.append(f"[^{_CLASSES[_NEGATED[given]][is_ascii]}]")
        if not (apart or is_negated) and inside in (r"\p{Nd}", r"\d", r"\w"):
            return inside
        if not apart:
            return f"[{'^' if is_negated else ''}{inside}]"
        # In ECMA-262 no class stands in another one.
        any_of = "|".join([*apart, f"[{inside}]"] if inside else apart)
        if is_negated:
            self.lookarounds += 1
            return rf"(?:(?!{any_of})[\s\S])"
        return f"(?:{any_of})" if "|" in any_of else any_of


def _member(code: int) -> str:
    return _escaped(code, r"\]^-[")


def _escaped(code: int, special: str) -> str:
    if 0xD800 <= code < 0xE000:
        raise _NoCounterpart
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    return f"\\{chr(code)}" if chr(code) in special else chr(code)
