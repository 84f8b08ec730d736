"""The official Python SDK, version 1: https://github.com/modelcontextprotocol/python-sdk"""

import asyncio
import warnings
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlparse

import httpx
from mcp import ClientSession, types
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

from cells import CALLBACK, KEY, REVISION, SIGNED_URL, TEAM_URL, URL, cell, expect, report, tell
from steps import Peer, greets, play

# Tasks are deprecated in this version, and offered.
warnings.simplefilter("ignore", DeprecationWarning)


class Version1(Peer):
    session: ClientSession

    async def on_elicit(self, _context, _params):
        action, content = await self.user()
        return types.ElicitResult(action=action, content=content)

    async def on_message(self, message):
        if isinstance(message, types.ServerNotification):
            if isinstance(message.root, types.ToolListChangedNotification):
                self.changed += 1

    async def on_progress(self, _progress, _total, _message):
        self.progressed += 1

    async def call(self, name, arguments=None):
        return dump(await self.session.call_tool(name, arguments, progress_callback=self.on_progress))

    async def lists(self):
        session = self.session
        return {
            "tools": (await session.list_tools()).tools,
            "resources": (await session.list_resources()).resources,
            "templates": (await session.list_resource_templates()).resourceTemplates,
            "prompts": (await session.list_prompts()).prompts,
        }

    async def read(self, uri):
        return dump(await self.session.read_resource(uri))

    async def prompt(self, name, arguments):
        return dump(await self.session.get_prompt(name, arguments))

    async def complete(self, name, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=name)
        found = await self.session.complete(reference, {"name": argument, "value": value})
        return found.completion.values

    async def task(self, name, arguments):
        tasks = self.session.experimental
        begun = await tasks.call_tool_as_task(name, arguments)
        async for _status in tasks.poll_task(begun.task.taskId):
            pass
        return dump(await tasks.get_task_result(begun.task.taskId, types.CallToolResult))


def dump(result):
    return result.model_dump(mode="json", by_alias=True)


@asynccontextmanager
async def connected(url, peer, headers=None, auth=None):
    async with (
        create_mcp_http_client(headers=headers, timeout=httpx.Timeout(30, read=300), auth=auth) as http,
        streamable_http_client(url, http_client=http) as (reading, writing, _id),
        ClientSession(
            reading,
            writing,
            elicitation_callback=peer.on_elicit,
            message_handler=peer.on_message,
        ) as session,
    ):
        peer.session = session
        agreed = await session.initialize()
        expect(agreed.protocolVersion == REVISION, "the revision is", agreed.protocolVersion)
        yield peer


class Storage:
    """Keeps what an OAuth client keeps, in memory."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


def signing_in(url):
    """Signs in at this server; the driver is the browser."""
    back = {}

    async def redirect(url):
        back.update(parse_qs(urlparse(await tell("browse", url)).query))

    async def callback():
        return back["code"][0], back["state"][0]

    metadata = OAuthClientMetadata(client_name="matrix-python", redirect_uris=[CALLBACK])
    return OAuthClientProvider(url, metadata, Storage(), redirect, callback)


async def with_key():
    try:
        async with connected(SIGNED_URL, Version1()):
            refused = False
    except Exception:
        refused = True
    expect(refused, "it connects without a key")
    async with connected(SIGNED_URL, Version1(), {"authorization": f"Bearer {KEY}"}) as peer:
        await greets(peer)


async def with_oauth(url):
    async with connected(url, Version1(), auth=signing_in(url)) as peer:
        await greets(peer)


async def main():
    async def connect():
        async with connected(URL, Version1()):
            pass

    await cell("connect", connect)
    try:
        async with connected(URL, Version1()) as peer:
            await play(peer)
    except BaseException:
        pass  # What went wrong stands in the cells.
    await cell("key", with_key)
    await cell("oauth", lambda: with_oauth(SIGNED_URL), 60)
    await cell("team", lambda: with_oauth(TEAM_URL), 60)
    report()


asyncio.run(main())
