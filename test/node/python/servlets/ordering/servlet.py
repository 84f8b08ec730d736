import asyncio

from edge_servlets import Context, ToolCallError, fetch, tool

kept: list[bytes] = []


async def asked(ctx: Context, what: str) -> str:
    answer = await ctx.elicit(what, str)
    return str(answer.data)


async def posted(what: str) -> int:
    return (await fetch("https://api.example.com/", data=what)).status


@tool
def keeps(count: int) -> int:
    """Moves what is made in later calls to other places in memory."""
    kept.extend(bytes(100 + nth) for nth in range(count))
    return len(kept)


@tool
async def fails_in_group(ctx: Context) -> list[str]:
    """One fails while others wait."""
    log: list[str] = []

    async def child(nth: int) -> None:
        try:
            log.append(await asked(ctx, f"{nth}?"))
            if nth == 2:
                await ctx.call_tool("missing", {})
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            log.append(f"cancelled {nth}")
            await posted(f"cancelled {nth}")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            for nth in range(9):
                group.create_task(child(nth))
    except* ToolCallError as errors:
        log.extend(error.reason for error in errors.exceptions if isinstance(error, ToolCallError))
    return log


@tool
async def finishes_first(ctx: Context) -> list[str]:
    """Takes what is ready in the order in which it is."""
    found: list[str] = []
    waiting = {asyncio.create_task(asked(ctx, f"{nth}?"), name=str(nth)) for nth in range(8)}
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            found.append(one.get_name())
            await posted(one.get_name())
    return found


class Noisy:
    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        print("deleted")
        fetch("https://api.example.com/", data="deleted")


@tool
async def is_stuck() -> int:
    """Leaves garbage that would say something to the host: a task that waits for ever, one that has failed, and an object."""

    async def failed() -> None:
        itself = asyncio.current_task()
        raise ValueError(itself)

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            try:
                await asyncio.Future()
            finally:
                await posted("given up")

    kept.append(b"")
    Noisy()
    asyncio.create_task(failed())
    asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    return len(kept)
