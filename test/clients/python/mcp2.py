"""The official Python SDK, version 2: https://github.com/modelcontextprotocol/python-sdk"""

import asyncio
from contextlib import asynccontextmanager

import mcp_types as types
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

from cells import CALLBACK, KEY, REVISION, SIGNED_URL, TEAM_URL, URL, cell, expect, report
from steps import greets, play
from version2 import MODE, Browser, Storage, Version2, dump


class Official(Version2):
    client: Client

    def session_now(self):
        return self.client.session

    async def on_elicit(self, _context, _params):
        action, content = await self.user()
        return types.ElicitResult(action=action, content=content)

    async def call(self, name, arguments=None):
        progress = self.on_progress
        return dump(await self.client.call_tool(name, arguments, progress_callback=progress))

    async def lists(self):
        client = self.client
        return {
            "tools": (await client.list_tools()).tools,
            "resources": (await client.list_resources()).resources,
            "templates": (await client.list_resource_templates()).resource_templates,
            "prompts": (await client.list_prompts()).prompts,
        }

    async def read(self, uri):
        return dump(await self.client.read_resource(uri))

    async def prompt(self, name, arguments):
        return dump(await self.client.get_prompt(name, arguments))

    async def complete(self, name, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=name)
        found = await self.client.complete(reference, {"name": argument, "value": value})
        return found.completion.values


@asynccontextmanager
async def connected(url, headers=None, auth=None):
    peer = Official()
    async with (
        create_mcp_http_client(headers=headers, auth=auth) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=MODE,
            elicitation_callback=peer.on_elicit,
            message_handler=peer.on_message,
        ) as client,
    ):
        peer.client = client
        expect(client.protocol_version == REVISION, "the revision is", client.protocol_version)
        yield peer


async def with_key():
    try:
        async with connected(SIGNED_URL):
            refused = False
    except Exception:
        refused = True
    expect(refused, "it connects without a key")
    async with connected(SIGNED_URL, {"authorization": f"Bearer {KEY}"}) as peer:
        await greets(peer)


async def with_oauth(url):
    browser = Browser()
    metadata = OAuthClientMetadata(client_name="matrix-python", redirect_uris=[CALLBACK])
    auth = OAuthClientProvider(url, metadata, Storage(), browser.redirect, browser.callback)
    async with connected(url, auth=auth) as peer:
        await greets(peer)


async def main():
    async def connect():
        async with connected(URL):
            pass

    await cell("connect", connect)
    try:
        async with connected(URL) as peer:
            await play(peer)
    except BaseException:
        pass  # What went wrong stands in the cells.
    await cell("key", with_key)
    await cell("oauth", lambda: with_oauth(SIGNED_URL), 60)
    await cell("team", lambda: with_oauth(TEAM_URL), 60)
    report()


asyncio.run(main())
