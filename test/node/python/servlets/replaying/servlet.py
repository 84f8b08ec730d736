import asyncio
import contextlib
import os
import random
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Iterator

from edge_servlets import AskError, Context, fetch, tool

traces: list[str] = []
"""What calls have left in the module: nothing that a later run may see."""


async def asked(ctx: Context, what: str) -> str:
    answer = await ctx.elicit(what, str)
    return str(answer.data)


async def posted(what: str) -> int:
    return (await fetch("https://api.example.com/", data=what)).status


@tool
async def keeps_nothing(ctx: Context) -> list[str]:
    traces.append("began")
    await asked(ctx, "A?")
    traces.append("asked")
    await asyncio.sleep(60)
    return traces


@tool
async def draws(ctx: Context) -> list[str]:
    def drawn() -> list[str]:
        return [
            str(random.random()),
            str(random.gauss()),
            str(uuid.uuid4()),
            str(uuid.uuid1()),
            secrets.token_hex(8),
            os.urandom(8).hex(),
            str(hash(object())),
            str({object() for _ in range(3)}),
            str(time.time_ns()),
            str(time.monotonic()),
            str(time.perf_counter()),
        ]

    before = drawn()
    await asked(ctx, "A?")
    between = drawn()
    await asyncio.sleep(1.5)
    await posted("a")
    return [*before, *between, *drawn()]


@tool
async def seeds(ctx: Context) -> list[float]:
    random.seed(42)
    first = random.random()
    await asked(ctx, "A?")
    return [first, random.random()]


@tool
async def cleans_up(ctx: Context) -> str:
    """Would post each time that it is unwound."""
    try:
        return await asked(ctx, "A?")
    finally:
        await posted("cleaned up")


@tool
async def catches_all(ctx: Context) -> str:
    caught: list[str] = []
    for what in ("A?", "B?"):
        try:
            caught.append(await asked(ctx, what))
        except BaseException as error:
            caught.append(type(error).__name__)
            await posted("caught")
    return " ".join(caught)


@tool
async def manages(ctx: Context) -> list[str]:
    log: list[str] = []

    @contextlib.contextmanager
    def plain() -> Iterator[str]:
        log.append("enters")
        try:
            yield "plain"
        finally:
            log.append("leaves")

    @contextlib.asynccontextmanager
    async def waiting() -> AsyncIterator[str]:
        log.append(await asked(ctx, "Enter?"))
        try:
            yield "waiting"
        finally:
            log.append(await asked(ctx, "Leave?"))
            await posted("left")

    with plain():
        async with waiting(), contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(posted, "popped")
            log.append(await asked(ctx, "Within?"))
            with contextlib.suppress(AskError):
                await ctx.sample("Unanswered")
    return log


@tool
async def generates(ctx: Context) -> list[str]:
    """Leaves an asynchronous generator in the middle, which waits as it is closed."""

    def numbers() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            fetch("https://api.example.com/", data="plain one closed")

    async def names() -> AsyncIterator[str]:
        try:
            for number in numbers():
                yield await asked(ctx, f"{number}?")
        finally:
            await posted("closed")
            await asked(ctx, "Closed?")

    found: list[str] = []
    async for name in names():
        found.append(name)
        if len(found) == 2:
            break
    return found


@tool
async def leaves_tasks(ctx: Context) -> str:
    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await posted("cancelled")
            await asked(ctx, "Cancelled?")

    tasks = [asyncio.create_task(stubborn()) for _ in range(2)]
    await asked(ctx, "A?")
    return str(len(tasks))


@tool
async def swallows(ctx: Context) -> list[str]:
    """A task that does not let itself be cancelled at the first time."""
    log: list[str] = []

    async def stubborn() -> str:
        while len(log) < 2:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                log.append(await asked(ctx, f"Cancelled {len(log)}?"))
        return "done"

    task = asyncio.create_task(stubborn())
    for _ in range(2):
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.sleep(0)
    log.append(await task)
    return log


@tool
async def times_out(ctx: Context, seconds: float) -> list[str]:
    log: list[str] = []
    try:
        async with asyncio.timeout(seconds):
            log.append((await ctx.call_tool("forecast", {})).text)
            log.append(await asked(ctx, "A?"))
            await asyncio.sleep(100)
    except TimeoutError:
        log.append("too late")
        await posted("too late")
    return log


@tool
async def gathers(ctx: Context) -> list[str]:
    async def child(nth: int) -> str:
        if nth % 2:
            await asyncio.sleep(nth)
        answer = await asked(ctx, f"{nth}?")
        return f"{answer} {await posted(str(nth))}"

    return list(await asyncio.gather(*map(child, range(5))))


@tool
def runs(ctx: Context) -> list[str]:
    async def main() -> list[str]:
        return list(await asyncio.gather(asked(ctx, "A?"), asked(ctx, "B?")))

    return asyncio.run(main())
