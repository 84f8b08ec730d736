import asyncio
import random
import uuid
from pathlib import Path
from random import randint

from edge_servlets import Context, tool

count = 0
notes: list[str] = []
lock = asyncio.Lock()


@tool
def counted() -> int:
    global count
    count += 1
    return count


@tool
async def note(text: str) -> list[str]:
    async with lock:
        notes.append(text)
    return notes


@tool
def fails() -> str:
    notes.append("half")
    raise ValueError("no")


@tool
async def undoes(ctx: Context) -> str:
    notes.append("undone")
    ctx.discard_changes()
    return "undone"


@tool
def forgets(ctx: Context) -> str:
    ctx.reset_state()
    return "forgotten"


@tool
def chance() -> list[str]:
    return [str(random.random()), str(uuid.uuid4()), str(randint(0, 2**64))]


@tool
def writes(text: str) -> str:
    path = Path("/data/diary.txt")
    with path.open("a") as file:
        file.write(f"{text}\n")
    return path.read_text()


@tool
def outside() -> str:
    try:
        Path("/etc/passwd").read_text()
    except OSError as error:
        return type(error).__name__
    return ""
