import re
from dataclasses import dataclass
from typing import Annotated, Any

from edge_servlets import Context, Field, tool

PATTERNS: dict[str, Any] = {
    "plain": r"^(red|green)-[0-9]{3}$",
    "dash": r"^\d{4}\-\d{2}$",
    "punctuation": r"^\@\#\ \!\"\%\&\'\,\:\;\<\=\>\_\`\~$",
    "syntax": r"^[\^\]\-\\a-c]\.\*\+\(\)\[\]\{\}\|\/\\$",
    "named": r"(?P<y>\d{4})-(?P<m>\d\d)",
    "whole": r"\A[a-z]+\Z",
    "word": r"^\w+$",
    "no_word": r"^[^\W_]+$",
    "not_or": r"^[\Wa]{2}$",
    "space": r"^\S+\s\S+$",
    "any": r"^a.b$",
    "flags": re.compile(r"^ a . b $", re.VERBOSE | re.DOTALL),
    "ascii": re.compile(r"^\w\d[\s]$", re.ASCII),
    "ascii_but": r"(?a)^\w(?u:\d)$",
    "verbose": "(?x)^ a b  # letters\n $",
    "lazy": r"^(?:ab)*?c{2,}?(?!d)(?<=c)",
    "choices": r"^(?:foo|far|bar)+$",
    "null": "^\x00\n$",
    "ignores_case": r"(?i)^abc$",
    "ignores_case_within": r"^(?i:a)b$",
    "boundary": r"\bcat\b",
    "back": r"(['\"])x\1",
    "back_by_name": r"(?P<q>['\"])x(?P=q)",
    "lines": r"(?m)^a$",
    "possessive": r"^a++b$",
    "atomic": r"^(?>a|ab)c$",
    "conditional": r"^(<)?a(?(1)>|!)$",
    "compiled": re.compile("^abc$", re.IGNORECASE),
    "large": r"^(?:[a-z]{1,100}){1,100}$",
}


def _define(name: str, pattern: Any) -> None:
    def take(value, other=1):
        return f"{value} {other}"

    hints = {"value": Annotated[str, Field(pattern=pattern)], "other": int, "return": str}
    take.__annotations__ = hints
    tool(name)(take)


for _name, _pattern in PATTERNS.items():
    _define(_name, _pattern)


@dataclass
class Person:
    name: Annotated[str, Field(pattern=r"^\w+\-\w+$")]


@tool
async def asks(ctx: Context) -> str:
    answer = await ctx.elicit("Who?", Person)
    return answer.data.name if answer else ""


class Model:
    """As a model of pydantic 1 is."""

    @staticmethod
    def schema(ref_template: str) -> dict[str, Any]:
        members = {
            "pattern": {"type": "string", "pattern": r"^\d\-$"},
            "other": {"type": "string", "pattern": "(?i)a"},
            "third": {"type": "object", "default": {"pattern": "(?i)a"}},
        }
        return {"type": "object", "properties": members}

    @classmethod
    def parse_obj(cls, value: Any) -> Any:
        return value


@tool
def models(value: Model) -> str:
    return str(value)


@tool
def outside(source: str, members: str) -> list[int]:
    """The characters of which Python and a class of ECMA-262, as ranges of code points, think otherwise."""
    ranges = [tuple(map(int, one.split("-"))) for one in members.split(",")]
    wanted = {code for least, most in ranges for code in range(least, most + 1)}
    fits = re.compile(source).match
    return [code for code in range(0x110000) if bool(fits(chr(code))) != (code in wanted)]
