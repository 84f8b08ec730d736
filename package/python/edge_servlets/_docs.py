"""Descriptions of a function and its parameters, from its docstring in the style of Google, NumPy or Sphinx."""

import re
from collections.abc import Container
from inspect import cleandoc
from typing import NamedTuple


class Docs(NamedTuple):
    description: str
    parameters: dict[str, str]


_PARAMETERS = {
    "args",
    "arguments",
    "parameters",
    "params",
    "other parameters",
    "keyword args",
    "keyword arguments",
}
# What a caller has no use for: how it ends is told by its schema.
_LEFT_OUT = {
    "returns",
    "return",
    "yields",
    "yield",
    "raises",
    "raise",
    "warns",
    "attributes",
    "see also",
}
_SECTIONS = (
    _PARAMETERS
    | _LEFT_OUT
    | {"example", "examples", "note", "notes", "references", "todo", "warning", "warnings"}
)

_UNDERLINE = re.compile(r"-{3,}\s*")
_GOOGLE = re.compile(r"([A-Za-z ]+):\s*")
_BULLET = re.compile(r"[-*+•]\s")
# Also as items of a list, with the name as code or in bold, and with a dash for the colon.
_GOOGLE_ENTRY = re.compile(
    r"([-*+•]\s+)?[*`]*(\w+)[*`]*\s*(?:\(.*?\))?[*`]*(?:\s*:[*`]*|(\s+[-–—]\s))\s*(.*)"
)
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_SPHINX = re.compile(r":(\w+)(?:\s([^:]*))?:\s*(.*)")


def docs_of(docstring: str | None, names: Container[str]) -> Docs:
    """What the docstring of a function with these parameters says, without the sections about them, results and exceptions."""
    lines = cleandoc(docstring or "").splitlines()
    said: list[str] = []
    parameters: dict[str, list[str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        after = lines[at + 1] if at + 1 < len(lines) else ""
        google = _GOOGLE.fullmatch(line)
        if line.strip().lower() in _SECTIONS and _UNDERLINE.fullmatch(after):
            body, end = _numpy_body(lines, at + 2)
            name, read = line.strip().lower(), _numpy_entries
        elif (
            google
            and google[1].strip().lower() in _SECTIONS
            and (after[:1].isspace() or not after or _BULLET.match(after))
        ):
            body, end = _google_body(lines, at + 1)
            name, read = google[1].strip().lower(), _google_entries
        elif sphinx := _SPHINX.fullmatch(line):
            rest, end = _indented(lines, at + 1)
            _sphinx_field(sphinx, rest, parameters)
            at = end
            continue
        else:
            said.append(line)
            at += 1
            continue
        found = read(body, names) if name in _PARAMETERS else {}
        parameters.update(found)
        is_none = name in _PARAMETERS and "".join(body).strip(" .-*").lower() == "none"
        if not (found or is_none or name in _LEFT_OUT):
            said += lines[at:end]
        at = end
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(said)).strip()
    return Docs(text, {name: " ".join(" ".join(some).split()) for name, some in parameters.items()})


def _indented(lines: list[str], at: int) -> tuple[list[str], int]:
    """The lines from here that are indented or empty, and where they end."""
    end = at
    while end < len(lines) and (not lines[end] or lines[end][0].isspace()):
        end += 1
    return lines[at:end], end


def _google_body(lines: list[str], at: int) -> tuple[list[str], int]:
    """The indented lines from here, or those of a list that is not indented."""
    body, end = _indented(lines, at)
    if not any(body):
        for nth, line in enumerate(lines[end:], end + 1):
            if _BULLET.match(line) or line[:1].isspace():
                end = nth
            elif line:
                break
    return lines[at:end], end


def _numpy_body(lines: list[str], at: int) -> tuple[list[str], int]:
    end = at
    while end < len(lines):
        if end + 1 < len(lines) and lines[end].strip() and _UNDERLINE.fullmatch(lines[end + 1]):
            break
        end += 1
    return lines[at:end], end


def _google_entries(body: list[str], names: Container[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    depth = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    texts: list[str] = []
    for line in body:
        entry = _GOOGLE_ENTRY.fullmatch(line[depth:])
        # A list within a description has bullets and dashes, too.
        if entry and (entry[2] in names or not (entry[1] or entry[3])):
            texts = found[entry[2]] = [entry[4]]
        else:
            texts.append(line)
    return found


def _numpy_entries(body: list[str], _names: Container[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in body:
        entry = _NUMPY_ENTRY.fullmatch(line)
        if entry:
            texts = []
            for name in entry[1].split(","):
                found[name.strip().lstrip("*")] = texts
        else:
            texts.append(line)
    return found


def _sphinx_field(field: re.Match[str], rest: list[str], parameters: dict[str, list[str]]) -> None:
    kind, about, text = field[1], field[2] or "", field[3]
    if kind in ("param", "parameter", "arg", "argument", "key", "keyword") and about.split():
        parameters[about.split()[-1].lstrip("*")] = [text, *rest]
