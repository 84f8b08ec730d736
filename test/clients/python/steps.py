"""Steps of every Python client: each wraps its own methods as a `Peer`."""

import asyncio
import base64
import json

from cells import PATIENCE_SECONDS, REVISION, STAY_SECONDS, NotOffered, cell, expect, tell, within


class Peer:
    """A connected client, in one shape. Results are the JSON that its own types give."""

    def __init__(self):
        self.progressed = 0
        self.changed = 0
        self.answer = accept

    async def user(self):
        """Answers a question of the server's: the action and the content."""
        return await self.answer()

    async def call(self, name, arguments=None):
        raise NotImplementedError

    async def task(self, name, arguments):
        raise NotOffered

    async def end(self):
        """Has the server end the session."""
        if REVISION >= "2026-07-28":
            raise NotOffered
        await tell("end")

    async def listen(self):
        """Opens the stream of changes, where it is not open by itself."""


async def accept():
    return "accept", {"approve": True}


async def decline():
    return "decline", None


async def mistake():
    return "accept", {"approve": "perhaps"}


async def late():
    await tell("drop", "calls")
    await asyncio.sleep(5)
    return await accept()


async def greets(peer):
    result = await peer.call("greet", {"name": "Ada"})
    expect(result["content"][0]["text"] == "Hello, Ada!", result)


async def play(peer):
    """All cells of one connection."""

    async def lists():
        found = await peer.lists()
        for kind, least in {"tools": 20, "resources": 3, "templates": 2, "prompts": 3}.items():
            expect(len(found[kind]) >= least, len(found[kind]), kind)

    async def structured():
        result = await peer.call("lookup_status", {"code": 404})
        expect(result["structuredContent"]["name"] == "Not Found", result)

    async def image():
        result = await peer.call("draw_chart", {"values": [1, 3, 2]})
        expect(base64.b64decode(result["content"][-1]["data"]).startswith(b"\x89PNG"), "no PNG")

    async def progress():
        before = peer.progressed
        await peer.call("wait", {"seconds": 2.2})
        expect(peer.progressed > before, "no progress came")

    async def read():
        expect("503" in json.dumps(await peer.read("http-status://503")), "it lacks 503")

    async def prompt():
        expect("418" in json.dumps(await peer.prompt("explain_status", {"code": "418"})), "it lacks 418")

    async def complete():
        expect("503" in await peer.complete("explain_status", "code", "50"), "503 is not proposed")

    def answered(expected, answer):
        async def step():
            peer.answer = answer
            result = await peer.call("request_approval", {"what": "Paint the bridge"})
            expect(result["structuredContent"]["outcome"] == expected, result)

        return step

    async def wrong():
        peer.answer = mistake
        try:
            result = await peer.call("request_approval", {"what": "Paint the bridge"})
        except Exception:
            result = {"isError": True}
        expect(result["isError"], result)
        await greets(peer)

    async def task():
        result = await peer.task("slow_compute", {"seconds": 1, "label": "it"})
        expect("Computed it" in result["content"][0]["text"], result)

    async def cancel():
        try:
            await asyncio.wait_for(peer.call("wait", {"seconds": 20}), 1)
        except TimeoutError:
            return await greets(peer)
        expect(False, "the call was not cancelled")

    async def changes():
        await peer.listen()
        before = peer.changed
        await peer.call("test_trigger_tool_change")
        expect(await within(PATIENCE_SECONDS, lambda: peer.changed > before), "tools/list_changed did not come")

    async def stay():
        await asyncio.sleep(STAY_SECONDS)
        await greets(peer)
        await changes()

    async def drops():
        call = asyncio.create_task(peer.call("wait", {"seconds": 3}))
        # The stream begins with the first progress, after a second.
        await asyncio.sleep(1.5)
        await tell("drop")
        try:
            await call
        except Exception as error:
            # Without a session a call ends with its stream.
            expect(REVISION >= "2026-07-28", "the call that lost its stream:", repr(error))
        await greets(peer)
        await asyncio.sleep(2)
        await changes()

    async def gone():
        await peer.end()
        try:
            await greets(peer)
        except Exception as error:
            return expect("session" in str(error).lower(), "a call says", repr(error))
        expect(False, "a call succeeds")

    await cell("lists", lists)
    await cell("call", lambda: greets(peer))
    await cell("structured", structured)
    await cell("image", image)
    await cell("progress", progress)
    await cell("read", read)
    await cell("prompt", prompt)
    await cell("complete", complete)
    await cell("answer", answered("approved", accept))
    await cell("refuse", answered("rejected", decline))
    await cell("wrong", wrong)
    await cell("task", task)
    await cell("cancel", cancel)
    await cell("changes", changes, 30 + PATIENCE_SECONDS)
    await cell("stay", stay, STAY_SECONDS + 90 + PATIENCE_SECONDS)
    await cell("late", answered("approved", late))
    await cell("drops", drops, 60 + PATIENCE_SECONDS)
    await cell("gone", gone)
