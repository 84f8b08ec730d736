"""URI templates (RFC 6570), made to be matched."""

import re
from collections.abc import Callable

from ._errors import DefinitionError

# No value has line ends in it.
_LINE_ENDS = r"\n\r\u2028\u2029"

# Each operator's prefix, separator, and what a value may not have. `?` and `&` name their values.
_OPERATORS = {
    "": ("", ",", "/?#,"),
    "+": ("", ",", _LINE_ENDS),
    "#": ("#", ",", _LINE_ENDS),
    ".": (".", ".", "/?#."),
    "/": ("/", "/", "/?#"),
    ";": (";", ";", "/?#;"),
}
_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_VARIABLE = re.compile(r"([\w.%]+)(\*|:\d+)?")

type Match = Callable[[str], dict[str, str] | None]


def template(source: str) -> tuple[list[str], Match]:
    """The variables of a template, those of queries last; and a function that gives their values in a URI of this form."""
    names: list[str] = []
    queries: list[str] = []
    pattern = ""
    at = 0
    for found in _EXPRESSION.finditer(source):
        pattern += re.escape(source[at : found.start()])
        at = found.end()
        operator = found[1]
        variables = [_VARIABLE.fullmatch(one.strip()) for one in found[2].split(",")]
        if None in variables:
            raise DefinitionError(f'The URI template "{source}" has a bad expression: {found[0]}.')
        if operator in ("?", "&"):
            queries += [variable[1] for variable in variables if variable]
            pattern += r"(?:[?&][^#]*)?"
            continue
        between, separator, excluded = _OPERATORS[operator]
        for variable in variables:
            assert variable
            name = variable[1]
            names.append(name)
            of_several = variable[2] == "*" and operator == "/"
            pattern += re.escape(between) + (f"{re.escape(name)}=?" if operator == ";" else "")
            pattern += f"([^{'?#' if of_several else excluded}]*?)"
            between = separator
    form = re.compile(pattern + re.escape(source[at:]))

    def match(uri: str) -> dict[str, str] | None:
        found = form.fullmatch(uri)
        if found is None:
            return None
        values = dict(zip(names, map(_decoded, found.groups())))
        if queries:
            query = uri.partition("#")[0].partition("?")[2]
            for pair in query.split("&"):
                name, _, value = pair.partition("=")
                if (name := _decoded(name)) in queries:
                    values[name] = _decoded(value)
        return values

    return names + queries, match


_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")


def _decoded(text: str) -> str:
    return _ESCAPES.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"), text
    )
