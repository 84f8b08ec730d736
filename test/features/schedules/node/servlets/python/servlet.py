from datetime import datetime, timedelta

from edge_servlets import Context, scheduled, tool


@tool
async def plan(ctx: Context, kind: str) -> str:
    match kind:
        case "at":
            made = await ctx.schedule("say", {"text": "x"}, at="2030-01-01T09:00", time_zone="Europe/Berlin")
        case "every":
            made = await ctx.schedule("say", every=timedelta(hours=2), id="own")
        case _:
            made = await ctx.schedule("say", cron="0 8 * * *")
    return repr(made)


@tool
async def planned(ctx: Context) -> str:
    return repr([(one.id, one.every, one.next) for one in await ctx.schedules()])


@tool
async def forget(ctx: Context, id: str) -> bool:
    return await ctx.cancel_schedule(id)


@tool
def say(text: str = "") -> str:
    return text


@scheduled(cron="0 8 * * 1-5", time_zone="Europe/Berlin")
async def digest(ctx: Context, due: datetime, missed: int) -> str:
    return f"{due.isoformat()} {missed} {ctx.client.principal}"


@scheduled(every=timedelta(hours=1), name="hourly")
def each_hour() -> None:
    pass
