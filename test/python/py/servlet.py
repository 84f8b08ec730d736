"""The work that the bench compares with that in TypeScript beside."""

import json
import re
import time

from edge_servlets import tool

WORDS = re.compile(r"(\w+)@(\w+)\.(com|org|net)", re.IGNORECASE)


@tool
def py_greet(name: str) -> str:
    """Says hello."""
    return f"Hello, {name}"


@tool
def py_json(count: int) -> str:
    """Writes and reads JSON."""
    rows = [{"id": i, "name": f"row {i}", "tags": ["a", "b", str(i)], "value": i / 3} for i in range(count)]
    text = json.dumps(rows)
    return str(sum(row["id"] for row in json.loads(text)))


@tool
def py_regex(count: int) -> str:
    """Finds addresses in a text."""
    text = " ".join(f"word {i} user{i}@host{i}.org and more" for i in range(count))
    return str(sum(len(match[1]) for match in WORDS.finditer(text)))


@tool
def py_sort(count: int) -> str:
    """Sorts numbers and texts."""
    state = 1
    numbers: list[int] = []
    for _ in range(count):
        state = state * 48271 % 2147483647
        numbers.append(state)
    texts = sorted(str(one) for one in numbers)
    numbers.sort()
    return f"{numbers[0]} {texts[0]}"


@tool
def py_wait(seconds: float) -> str:
    """Waits."""
    time.sleep(seconds)
    return "waited"
