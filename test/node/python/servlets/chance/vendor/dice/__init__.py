"""A package with a generator of its own."""

from random import Random

_generator = Random()
seeded = Random(7)


def roll() -> float:
    return _generator.random()
