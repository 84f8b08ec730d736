"""`random` in the chance of the journal. Used from when `random` is loaded, be that in the middle of a call."""

import os
import random
from random import Random
from typing import Any
from weakref import ref

_unseeded: dict[int, ref[Random]] = {}
"""Generators by their ids, in the order in which they began: those that have been given no seed are among them."""
_seed, _setstate = Random.seed, Random.setstate


def _draw_seed(self: Any, a: Any = None, version: int = 2) -> None:
    """Replaces `Random.seed`: what is drawn follows from all that the host has answered, unless there is a seed."""
    self._is_seeded = a is not None
    if a is None:
        number = id(self)
        _unseeded.setdefault(number, ref(self, lambda _: _unseeded.pop(number, None)))
        a = int.from_bytes(os.urandom(16))
    _seed(self, a, version)


def _take_state(self: Any, state: Any) -> None:
    """Replaces `Random.setstate`."""
    self._is_seeded = True
    _setstate(self, state)


def renew() -> None:
    """Seeds each generator anew that has been given no seed."""
    for reference in [*_unseeded.values()]:
        generator: Any = reference()
        if generator is not None and not generator._is_seeded:
            Random.seed(generator)


def begin() -> None:
    """Has all that a call draws be its own, also by functions of `random` that module scope has given a seed."""
    _functions._is_seeded = False
    renew()


Random.seed = _draw_seed  # type: ignore[method-assign]
Random.setstate = _take_state  # type: ignore[method-assign]
_functions: Any = random._inst  # type: ignore[attr-defined]
"""The generator of the functions of `random`."""
_functions.seed()
random.seed, random.setstate = _functions.seed, _functions.setstate
