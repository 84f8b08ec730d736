"""`random` in the chance of the journal. Used where the servlet loads `random`."""

import os
import random
from typing import Any


class Chance(random.Random):
    """What is drawn follows from all that the host has answered, until the servlet seeds it itself."""

    _is_seeded = False

    def seed(self, a: Any = None, version: int = 2) -> None:
        self._is_seeded = a is not None
        super().seed(int.from_bytes(os.urandom(16)) if a is None else a, version)

    def setstate(self, state: Any) -> None:
        self._is_seeded = True
        super().setstate(state)

    def renew(self) -> None:
        if not self._is_seeded:
            self.seed()


chance: Chance = random._inst  # type: ignore[attr-defined]
chance.__class__ = Chance
random.seed, random.setstate = chance.seed, chance.setstate
