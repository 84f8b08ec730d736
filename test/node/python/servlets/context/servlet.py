from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from edge_servlets import AskError, Context, Message, ToolCallError, _host, roots_changed, tool


@dataclass
class Form:
    size: Literal["s", "m"]
    count: int = 3
    note: str | None = None


class Address(TypedDict):
    city: str


@tool
async def form(ctx: Context) -> str:
    answer = await ctx.elicit("Size?", Form, timeout=5)
    if not answer:
        return answer.action
    return f"{answer.data.size} {answer.data.count} {answer.data.note}"


@tool
async def typed_dict(ctx: Context) -> str:
    answer = await ctx.elicit("Where?", Address)
    return answer.data["city"] if answer else answer.action


@tool
async def scalars(ctx: Context) -> list[Any]:
    found: list[Any] = []
    for kind in (str, int, bool, Literal["a", "b"], ["x", "y"], {"k": {"title": "K"}}):
        answer = await ctx.elicit("?", kind)
        found.append(answer.data)
    return found


@tool
async def several(ctx: Context) -> list[Any]:
    tags = await ctx.elicit("Tags?", [["bug", "docs"]], response_title="Tags")
    sizes = await ctx.elicit("Sizes?", [{"s": {"title": "Small"}, "m": {}}])
    return [tags.data, sizes.data]


@tool
async def two_lists(ctx: Context) -> None:
    await ctx.elicit("Tags?", [["bug"], ["docs"]])


@tool
async def confirm(ctx: Context) -> str:
    answer = await ctx.elicit("Sure?", view="board")
    match answer.action:
        case "accept":
            return f"yes {answer.data}"
        case other:
            return other


@tool
async def url(ctx: Context) -> str:
    answer = await ctx.elicit_url("Pay", "https://pay.example/a", elicitation_id="e1")
    return f"{answer.action} {answer.data}"


@tool
async def secret(ctx: Context) -> str:
    key = await ctx.ask_secret("deepl", "Your key")
    return "none" if key is None else f"{len(key)} characters"


@tool
async def sample(ctx: Context) -> list[str]:
    answer = await ctx.sample(
        ["Hi", Message("Yes?", role="assistant")],
        system_prompt="Be brief.",
        max_tokens=10,
        model_preferences="claude",
    )
    return [answer.text, answer.model, answer.role, str(answer.stop_reason)]


@tool
async def roots(ctx: Context) -> str:
    return ",".join(f"{root.uri} {root.name}" for root in await ctx.list_roots())


@tool
async def handled(ctx: Context) -> list[str]:
    try:
        await ctx.elicit("Size?", Form)
    except AskError as error:
        return [error.reason, error.method, str(error)]
    return []


@tool
def returns_request(ctx: Context):
    if ctx.input_responses is not None:
        return f"{ctx.request_state} {ctx.input_responses}"
    request = {"method": "roots/list", "params": {}}
    return {
        "resultType": "input_required",
        "inputRequests": {"where": request},
        "requestState": "two",
    }


@tool
async def tells(ctx: Context) -> None:
    ctx.report_progress(1, 2, "half")
    await ctx.report_progress(2)
    await ctx.warning({"a": 1}, "me")
    ctx.info("text")
    ctx.log("m", "notice", extra={"b": 2})
    ctx.log("critical", "as the official SDK")
    ctx.log(level="alert", message="named")
    with suppress(ValueError):
        ctx.log("neither", "of them")  # pyright: ignore
    ctx.debug(object)
    ctx.error("e")
    ctx.notify_tools_changed()
    ctx.notify_prompts_changed()
    ctx.notify_resources_changed()
    ctx.notify_resource_updated("x:y")
    ctx.notify_elicitation_complete("e1")


@tool
def config(key: str, ctx: Context) -> str:
    return ctx.config(key) or "none"


@tool
def secrets(ctx: Context) -> list[str | None]:
    return [ctx.secret("bank", "me"), ctx.secret("shop", "me"), ctx.secret("bank", "other")]


@tool
def given(ctx: Context) -> dict[str, Any]:
    return {
        "id": ctx.id,
        "meta": ctx.meta,
        "client": ctx.client,
        "trace": ctx.trace,
        "first": ctx.input_responses is None and ctx.request_state is None,
    }


@tool
async def calls(ctx: Context) -> list[str]:
    one = await ctx.call_tool("forecast", {"city": "Bern"})
    two = await ctx.tools.forecast(city="Oslo")
    three = await ctx.tools["forecast"]({"city": "Rome"})
    return [one.text, two.text, str(three.structured_content), str(three.is_error)]


@tool
async def calls_unknown(ctx: Context) -> str:
    try:
        await ctx.tools.nobody()
    except ToolCallError as error:
        return f"{error.tool} {error.reason}"
    return ""


@tool
async def calls_unhandled(ctx: Context) -> str:
    return (await ctx.call_tool("nobody")).text


@tool
async def feature_function() -> str:
    try:
        return str(await _host.call_host("query()", "sql.query", {"sql": "x"}))
    except RuntimeError as error:
        return str(error)


@roots_changed
async def changed(ctx: Context) -> None:
    print(await ctx.list_roots())
