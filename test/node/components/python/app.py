# A component of componentize-py.
import random

import wit_world
from componentize_py_types import Err


class WitWorld(wit_world.WitWorld):
    def eval(self, expression: str) -> str:
        try:
            return str(eval(expression))
        except Exception as error:
            raise Err(str(error))

    def roll(self, count: int) -> list[float]:
        return [random.random() for _ in range(count)]
