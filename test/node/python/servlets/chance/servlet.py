import sqlite3
from collections.abc import Callable
from random import Random
from statistics import NormalDist
from tempfile import mktemp
from xml.etree import ElementTree

import dice
from edge_servlets import Context, tool

database = sqlite3.connect(":memory:")
# SQLite has begun its own sequence when the servlet is loaded.
database.execute("select random()").fetchone()


def selected(expression: str) -> str:
    return str(database.execute(f"select {expression}").fetchone()[0])


SOURCES: dict[str, Callable[[], str]] = {
    "mktemp": lambda: mktemp(dir="/"),
    "package": lambda: str(dice.roll()),
    "randomblob": lambda: selected("hex(randomblob(8))"),
    "SQL random": lambda: selected("random()"),
    "samples": lambda: str(NormalDist().samples(1)),
    # Expat draws the salt of its hashes.
    "what follows XML": lambda: ElementTree.fromstring("<a/>").tag + mktemp(dir="/"),
}


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
async def keeps_generator(ctx: Context) -> list[str]:
    """A generator that the call has made draws before and after a question."""
    generator = Random()
    drawn = str(generator.random())
    await ctx.elicit("Go on?", str)
    return [drawn, str(generator.random())]


@tool
def seeded() -> float:
    return dice.seeded.random()
