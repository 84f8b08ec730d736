import asyncio
import os
import random
import sqlite3
import sys
import time
import uuid
from contextvars import ContextVar
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


user = ContextVar("user", default="nobody")


@tool
def sets(name: str) -> str:
    before = user.get()
    user.set(name)
    return before


async def waits() -> None:
    try:
        await asyncio.sleep(60)
    finally:
        notes.append("ended")


@tool
async def exits() -> str:
    tasks.append(asyncio.create_task(waits()))
    await asyncio.sleep(0)
    sys.exit(3)


@tool
async def stops() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(1)
    return "goes on"


@tool
async def stops_and_ends() -> str:
    asyncio.get_running_loop().stop()
    return "stopped"


@tool
async def counts_tasks() -> int:
    await asyncio.sleep(0)
    return len(asyncio.all_tasks())


class Circle:
    """Garbage that only the collector finds."""

    def __init__(self, *held: object) -> None:
        self.held = held, self

    def __del__(self) -> None:
        for late in (time.time, lambda: time.sleep(1), lambda: os.urandom(1)):
            try:
                late()
            except OSError:
                pass


@tool
def leaves_garbage() -> str:
    db = sqlite3.connect("/data/left.db")
    db.execute("create table if not exists lines (text)")
    Circle(db, open("/data/left.txt", "w"))
    ballast.append(os.urandom(700_000))
    return "left"


tasks: list[asyncio.Task[None]] = []
ballast: list[bytes] = []
