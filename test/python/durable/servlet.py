"""The servlet of test/guests/durable in Python: it follows the same plans, step by step."""

import asyncio
import json
import random
import time
import uuid
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

from edge_servlets import (
    AskError,
    Context,
    ElicitationResult,
    FetchError,
    RpcError,
    ToolCallError,
    ToolCallResult,
    prompt,
    resource,
    tool,
)
from edge_servlets._asks import request
from edge_servlets._content import some

type Json = dict[str, Any]


class Call(TypedDict):
    tool: str
    args: NotRequired[Json]


class Step(TypedDict):
    """What to do, and what of the rest it needs: see plan.ts."""

    do: str
    message: NotRequired[str]
    timeout: NotRequired[float]
    keys: NotRequired[list[str]]
    schema: NotRequired[Json]
    method: NotRequired[str]
    url: NotRequired[str]
    ms: NotRequired[float]
    progress: NotRequired[float]
    id: NotRequired[str]
    params: NotRequired[Json]
    account: NotRequired[str]
    name: NotRequired[str]
    replace: NotRequired[bool]
    catches: NotRequired[bool]
    calls: NotRequired[list[Call]]
    tools: NotRequired[list[str]]
    times: NotRequired[int]
    branches: NotRequired[list[list[Json]]]
    """Plans that are followed at the same time. Open Tool Calling takes no type that refers to itself."""


class Followed(TypedDict):
    said: list[Any]
    """Outcome of each step."""
    ids: list[str]
    """Random, one for each step; they go out with HTTP requests."""
    times: list[int]
    """When each step was over, in Unix ms."""


@dataclass
class Name:
    name: str


PAGE = "https://page.example/"
VALUE = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
LOOK_UP = {"name": "look_up", "inputSchema": {"type": "object", "properties": {}}}

kept: list[str] = []
"""Where the servlet keeps state: the messages of all steps `keep` that were committed."""


def push(followed: Followed, said: Any, id: str) -> None:
    followed["said"].append(said)
    followed["ids"].append(id)
    followed["times"].append(time.time_ns() // 1_000_000)


def nothing() -> Followed:
    return {"said": [], "ids": [], "times": []}


async def follow(steps: list[Step], ctx: Context, followed: Followed | None = None) -> Followed:
    """Follows the plan from where it was, to its end or to the first step that returns what it asks."""
    followed = followed or nothing()
    for step in steps[len(followed["said"]) :]:
        if step["do"] == "back":
            break
        id = str(uuid.uuid4())
        try:
            said = await doing(step, id, ctx)
        except (AskError, ToolCallError) as error:
            if not step.get("catches"):
                raise
            said = error.reason
        push(followed, said, id)
    return followed


async def follow_back(steps: list[Step], ctx: Context) -> Followed | Json:
    """Follows the plan, and returns at a step `back`: the servlet is called anew, with its own state."""
    state = ctx.request_state
    followed: Followed = nothing() if state is None else json.loads(state)
    at = len(followed["said"])
    if state is not None and at < len(steps) and steps[at]["do"] == "back":
        push(followed, ctx.input_responses, str(uuid.uuid4()))
    await follow(steps, ctx, followed)
    at = len(followed["said"])
    if at == len(steps):
        return followed
    return asking(requests_of(steps[at]), json.dumps(followed))


def asking(requests: Json | None, state: str) -> Json:
    more = {} if requests is None else {"inputRequests": requests}
    return {"resultType": "input_required", "requestState": state, **more}


def requests_of(step: Step) -> Json:
    message, schema = step.get("message", "What?"), step.get("schema", VALUE)
    return {key: form(f"{message} {key}", schema) for key in step.get("keys", ())}


def form(message: str, schema: Json) -> Json:
    params = {"message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def value_of(result: ToolCallResult) -> Any:
    """What a tool gave, in brief."""
    text = " ".join(block.text for block in result.content if block.type == "text")
    if result.is_error:
        return f"error: {text}"
    if result.structured_content is not None:
        return result.structured_content
    return json.loads(text) if text.startswith("{") else text


def said_to(answer: ElicitationResult[str]) -> str:
    return answer.data if answer else answer.action


async def elicitation(params: Json) -> Json:
    return await request("a plan", "elicitation/create", params)


async def doing(step: Step, id: str, ctx: Context) -> Any:
    message, keys, name = step.get("message", "What?"), step.get("keys", []), step.get("name", "key")
    match step["do"]:
        case "elicit":
            ms = step.get("timeout")
            timeout = None if ms is None else ms / 1000
            return said_to(await ctx.elicit(message, str, timeout=timeout))
        case "elicit_url":
            url = step.get("url") or PAGE
            return (await ctx.elicit_url(message, url, elicitation_id=step.get("id"))).action
        case "url_done":
            ctx.notify_elicitation_complete(step.get("id", ""))
        case "sample":
            return (await ctx.sample(message, max_tokens=10)).content
        case "sample_tools":
            content = {"type": "text", "text": message}
            asked = {"messages": [{"role": "user", "content": content}], "maxTokens": 10}
            more = {"tools": [LOOK_UP], "toolChoice": {"mode": "required"}}
            return (await request("a plan", "sampling/createMessage", asked | more))["content"]
        case "updated":
            ctx.notify_resource_updated(step.get("url", ""))
        case "changed":
            ctx.notify_resources_changed()
        case "keep":
            kept.append(message)
            return [*kept]
        case "tally":
            asked = f"{message} after {len(kept)}"
            return [asked, said_to(await ctx.elicit(asked, str))]
        case "roots":
            return [some(uri=root.uri, name=root.name) for root in await ctx.list_roots()]
        case "inputs":
            about = {key: f"{message} {key}" if "message" in step else message for key in keys}
            schema = step.get("schema", VALUE)
            answers = await asyncio.gather(
                *(elicitation(form(one, schema)["params"]) for one in about.values())
            )
            return dict(zip(about, answers))
        case "http":
            method = step.get("method", "GET")
            body = None if method == "GET" else id
            try:
                response = await ctx.fetch(
                    step.get("url", ""),
                    method=method,
                    headers={"x-id": id},
                    data=body,
                    account=step.get("account"),
                )
            except FetchError as error:
                return str(error)
            return [response.status, response.text]
        case "ask_as":
            try:
                return {"a": await elicitation(step.get("params", {}))}
            except RpcError as error:
                return str(error)
        case "sleep":
            await asyncio.sleep(step.get("ms", 0) / 1000)
            return "slept"
        case "config":
            return ctx.config("greeting")
        case "secret":
            return ctx.secret("vault", "probe")
        case "ask_secret":
            return await ctx.ask_secret(name, message, replace=step.get("replace", False))
        case "kept":
            return ctx.secret(name)
        case "log":
            ctx.log(message)
            print(message)
        case "progress":
            ctx.report_progress(step.get("progress", 1), 2, message)
        case "chance":
            return random.random()
        case "all":
            return await asyncio.gather(*(follow(cast(list[Step], one), ctx) for one in step.get("branches", [])))
        case "call":
            plans = zip(step.get("tools", []), step.get("branches", []))
            calls = step.get("calls") or [{"tool": one, "args": {"steps": of}} for one, of in plans]
            said: list[Any] = []
            for _ in range(step.get("times", 1)):
                made = (ctx.call_tool(one["tool"], one.get("args")) for one in calls)
                said.extend(map(value_of, await asyncio.gather(*made)))
            return said
        case "forever":
            while True:
                ctx.config("greeting")
        case "fail":
            raise Exception(message)
        case _:
            return random.random() < 1
    return None


async def plan(steps: list[Step], ctx: Context) -> Json:
    """Follows a plan"""
    return dict(await follow(steps, ctx))


async def plan_back(steps: list[Step], ctx: Context) -> Json:
    """Follows a plan, and returns in between"""
    return dict(await follow_back(steps, ctx))


for name in ("plan", "plan_never", "plan_always", "plan_required"):
    tool(name)(plan)
for name in ("plan_back", "plan_back_always"):
    tool(name)(plan_back)


@tool("rounds_always")
@tool("rounds")
async def rounds(
    ctx: Context, rounds: int, key: str = "name", post: str | None = None, isSilent: bool = False
) -> Json | str:
    """Asks for names, and returns in between

    Args:
        rounds: How often it asks
        key: Under which key
        post: Where it posts each time, before it asks
        isSilent: Whether it returns without asking for anything
    """
    names: list[str] = [] if ctx.request_state is None else json.loads(ctx.request_state)
    answer = (ctx.input_responses or {}).get(key, {})
    if answer.get("content"):
        names.append(answer["content"]["name"])
    if post is not None:
        response = await ctx.fetch(post, method="POST", data="again")
        if response.status != 200:
            raise Exception(f"The world says {response.status}.")
    if len(names) >= rounds:
        return " and ".join(names)
    if isSilent:
        return asking(None, json.dumps([*names, "nobody"]))
    return asking({key: form(f"Name {len(names) + 1}?", NAME)}, json.dumps(names))


async def name_of(ctx: Context) -> str:
    answer = await ctx.elicit("Who?", Name)
    return answer.data.name if answer else answer.action


@prompt
async def plan_prompt(ctx: Context) -> str:
    """Asks who it is for"""
    return f"A prompt for {await name_of(ctx)}"


@resource("plan://resource", name="plan-resource")
async def plan_resource(ctx: Context) -> str:
    return f"A resource for {await name_of(ctx)}"
