# A component of componentize-py.
import asyncio
import random

import wit_world
from componentize_py_types import Err
from wit_world.imports import monotonic_clock as clock

MS = 1_000_000


class WitWorld(wit_world.WitWorld):
    def eval(self, expression: str) -> str:
        try:
            return str(eval(expression))
        except Exception as error:
            raise Err(str(error))

    def roll(self, count: int) -> list[float]:
        return [random.random() for _ in range(count)]

    async def sleep(self, ms: list[int]) -> int:
        before = clock.now()
        await asyncio.gather(*(clock.wait_for(one * MS) for one in ms))
        return (clock.now() - before) // MS
