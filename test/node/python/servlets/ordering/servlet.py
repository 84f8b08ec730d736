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
