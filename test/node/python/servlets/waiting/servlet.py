import asyncio
import os
import random
import time
import uuid

from edge_servlets import Context, FetchError, ToolError, fetch, tool

ready = asyncio.Event()
lock = asyncio.Lock()


async def asked(ctx: Context, what: str) -> str:
    answer = await ctx.elicit(what, str)
    return f"{answer.action} {answer.data}"


@tool
async def gathers(ctx: Context) -> list[str]:
    return list(await asyncio.gather(asked(ctx, "A?"), asked(ctx, "B?")))


@tool
async def groups(ctx: Context) -> list[str]:
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(ctx.tools.forecast(city=city)) for city in ("Bern", "Oslo")]
        response = group.create_task(fetch("https://api.example.com/"))
    return [*(call.result().text for call in calls), response.result().text]


@tool
async def all_at_once(ctx: Context) -> list[str]:
    async def sleeps() -> str:
        await asyncio.sleep(1)
        return "slept"

    call, answer, slept = await asyncio.gather(
        ctx.call_tool("forecast", {"city": "Bern"}), asked(ctx, "A?"), sleeps()
    )
    return [call.text, answer, slept]


@tool
async def sleeps() -> list[int]:
    before = time.time()
    await asyncio.gather(asyncio.sleep(1), asyncio.sleep(86_400), asyncio.sleep(-1))
    Pause().wait(2)
    return [int(before), int(time.time() - before)]


@tool
async def times_out(ctx: Context) -> str:
    try:
        async with asyncio.timeout(60):
            return await asked(ctx, "A?")
    except TimeoutError:
        return "too late"


@tool
async def group_times_out(ctx: Context) -> str:
    try:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            task = group.create_task(asked(ctx, "A?"))
    except TimeoutError:
        return "too late"
    return task.result()


@tool
async def waits_for(ctx: Context) -> str:
    return await asyncio.wait_for(asked(ctx, "A?"), 60)


@tool
async def queues() -> list[int]:
    queue: asyncio.Queue[int | None] = asyncio.Queue(1)
    got: list[int] = []

    async def put() -> None:
        for number in (1, 2, 3, None):
            await queue.put(number)

    async def take() -> None:
        while (number := await queue.get()) is not None:
            got.append(number)

    await asyncio.gather(put(), take())
    async with lock:
        ready.set()
    await ready.wait()
    return got


@tool
async def draws(ctx: Context) -> list[str]:
    before = random.random()
    await asked(ctx, "A?")
    return [str(before), str(random.random()), str(uuid.uuid4()), os.urandom(4).hex()]


@tool
async def never() -> str:
    await asyncio.Future()
    return ""


@tool
async def leaves() -> str:
    async def other() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            print("cancelled")

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    return str(task.done())


@tool
async def leaves_asleep() -> None:
    asyncio.create_task(asyncio.sleep(60))


@tool
async def closes() -> int:
    async def numbers():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            print("closed")

    async for number in numbers():
        return number
    return 0


@tool
async def group_refuses() -> str:
    async def refuse() -> None:
        raise ToolError("There is no such city.")

    async with asyncio.TaskGroup() as group:
        group.create_task(refuse())
    return ""


@tool
async def group_fails() -> str:
    async def fail() -> None:
        raise ValueError("no")

    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
    return ""


@tool
def runs() -> str:
    async def main() -> str:
        await asyncio.sleep(1)
        return "ran"

    return asyncio.run(main())


@tool
async def in_thread() -> int:
    return await asyncio.to_thread(lambda: 3)


@tool
async def cancels() -> str:
    task = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return "cancelled"
    return ""


async def prepared() -> list[str]:
    return await asyncio.gather(awaited("a"), awaited("b"))


async def awaited(text: str) -> str:
    return text


at_scope = asyncio.run(prepared())


@tool
def ran_at_scope() -> list[str]:
    return at_scope


@tool
async def asks_badly(ctx: Context) -> list[str]:
    found = await asyncio.gather(
        ctx.elicit("A?", str), ctx.elicit(object(), str), return_exceptions=True  # type: ignore[arg-type]
    )
    return [type(one).__name__ for one in found]


BAD = "https://other.example.com/"


@tool
async def fails_where_awaited(ctx: Context) -> list[str]:
    good = "https://api.example.com/"
    found = await asyncio.gather(
        fetch(good),
        fetch(BAD),
        *(fetch(url) for url in (BAD, good)),
        *map(fetch, [BAD]),
        fetch(good, json=object()),
        ctx.report_progress(1, 2),
        ctx.log("text", "loud"),  # type: ignore[call-overload]
        return_exceptions=True,
    )
    begun = asyncio.create_task(fetch(BAD))
    told = asyncio.create_task(ctx.info("told"))
    said: list[str] = []
    try:
        await begun
    except FetchError:
        said.append("task")
    await told
    response = fetch(BAD)
    try:
        print(response.status)
    except FetchError:
        said.append("used")
    return [*(type(one).__name__ for one in found), *said]


@tool
async def fails_unseen() -> str:
    fetch(BAD)
    return "done"


@tool
def fails_at_once() -> str:
    try:
        fetch(BAD)
    except FetchError:
        return "at once"
    return ""


@tool
async def races_sleep(ctx: Context) -> str:
    question = asyncio.create_task(asked(ctx, "race?"))
    clock = asyncio.create_task(asyncio.sleep(3))
    done, pending = await asyncio.wait({question, clock}, return_when=asyncio.FIRST_COMPLETED)
    for one in pending:
        one.cancel()
    return question.result() if question in done else "too late"


@tool
async def races_two(ctx: Context) -> str:
    question = asyncio.create_task(asked(ctx, "race?"))
    clocks = [asyncio.create_task(asyncio.sleep(3)) for _ in range(2)]
    done, pending = await asyncio.wait({question, *clocks}, return_when=asyncio.FIRST_COMPLETED)
    for one in pending:
        one.cancel()
    return question.result() if question in done else "too late"


@tool
async def races_deep(ctx: Context) -> str:
    async def limit() -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(1))
            group.create_task(asyncio.sleep(3))
        return "too late"

    async def question() -> str:
        async with asyncio.TaskGroup() as group:
            found = group.create_task(asked(ctx, "race?"))
        return found.result()

    both = [asyncio.create_task(question()), asyncio.create_task(limit())]
    done, pending = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    for one in pending:
        one.cancel()
    return done.pop().result()


@tool
async def waits_with_limit(ctx: Context) -> str:
    question = asyncio.create_task(asked(ctx, "race?"))
    done, _ = await asyncio.wait({question}, timeout=3)
    question.cancel()
    return question.result() if done else "too late"


@tool
async def completes_in_time(ctx: Context) -> str:
    question = asyncio.create_task(asked(ctx, "race?"))
    try:
        async for one in asyncio.as_completed([question], timeout=3):
            return await one
    except TimeoutError:
        question.cancel()
    return "too late"


@tool
async def looks_again(ctx: Context) -> str:
    question = asyncio.create_task(asked(ctx, "race?"))
    looks = 0
    while not (await asyncio.wait({question}, timeout=3))[0]:
        looks += 1
    return f"{question.result()} {looks}"


@tool
async def shields(ctx: Context) -> str:
    question = asyncio.create_task(asked(ctx, "race?"))
    try:
        await asyncio.wait_for(asyncio.shield(question), 3)
    except TimeoutError:
        return f"late: {await question}"
    return question.result()


@tool
async def ticks(ctx: Context) -> str:
    async def tick() -> None:
        while True:
            await asyncio.sleep(3)

    question, ticker = asyncio.create_task(asked(ctx, "race?")), asyncio.create_task(tick())
    await asyncio.wait({question, ticker}, return_when=asyncio.FIRST_COMPLETED)
    ticker.cancel()
    return question.result()


@tool
async def gathers_with_sleep(ctx: Context) -> str:
    answer, _ = await asyncio.gather(asked(ctx, "race?"), asyncio.sleep(3))
    return answer


class Pause:
    """Has a built-in function, which is no method."""

    wait = time.sleep
