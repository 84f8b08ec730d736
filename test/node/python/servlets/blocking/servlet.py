from collections.abc import AsyncIterator, Iterator

from edge_servlets import Context, fetch, tool


async def asked(ctx: Context, what: str) -> str:
    answer = await ctx.elicit(what, str)
    return str(answer.data)


async def posted(what: str) -> int:
    return (await fetch("https://api.example.com/", data=what)).status


@tool
async def cleans_up(ctx: Context) -> str:
    """Would post each time that it is unwound."""
    try:
        return await asked(ctx, "A?")
    finally:
        await posted("cleaned up")


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
