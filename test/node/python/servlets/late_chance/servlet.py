"""Nothing here loads `random` before a call does."""

import sys
import uuid
from collections.abc import Callable
from email.utils import make_msgid
from importlib import import_module

from edge_servlets import Context, tool


SOURCES: dict[str, Callable[[], str]] = {
    "make_msgid": lambda: make_msgid(domain="a").rpartition(".")[2],
    "uuid1": lambda: str(uuid.uuid1().clock_seq),
    "getnode": lambda: str(uuid.getnode()),
    "uuid8": lambda: str(uuid.uuid8()),
    "computed": lambda: str(import_module("ran" + "dom").random()),
}
assert "random" not in sys.modules


@tool
def sources() -> list[str]:
    return [*SOURCES]


@tool
async def draws(source: str, ctx: Context) -> list[str]:
    """Draws before and after a question."""
    drawn = SOURCES[source]()
    await ctx.elicit("Go on?", str)
    return [drawn, SOURCES[source]()]


@tool
def logs() -> None:
    """Loads `logging` in the call."""
    import_module("log" + "ging").error("told")
