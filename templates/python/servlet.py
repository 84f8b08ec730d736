from dataclasses import dataclass
from typing import Annotated

from edge_servlets import tool

# This runs once, when the servlet is built. Every call starts from there, on its own.


@dataclass
class Counts:
    words: int
    lines: int
    characters: int


# Its docstring and its types describe it. A parameter of the type `Context` can ask the user, report progress and more.
@tool
def my_servlet_count(text: Annotated[str, "The text to look at."]) -> Counts:
    """Counts the words, lines and characters of a text."""
    return Counts(words=len(text.split()), lines=text.count("\n") + 1, characters=len(text))
