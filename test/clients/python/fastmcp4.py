"""FastMCP: https://github.com/PrefectHQ/fastmcp"""

import asyncio
from contextlib import asynccontextmanager

import mcp_types as types
from fastmcp import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport

from cells import KEY, REVISION, SIGNED_URL, TEAM_URL, URL, cell, expect, report
from steps import greets, play
from version2 import MODE, Browser, Version2, dump


class FastMcp(Version2):
    client: Client

    def session_now(self):
        return self.client.session

    async def on_elicit(self, _message, _type, _params, _context):
        action, content = await self.user()
        return ElicitResult(action=action, content=content)

    async def call(self, name, arguments=None):
        progress = self.on_progress
        result = await self.client.call_tool(
            name, arguments, progress_handler=progress, raise_on_error=False
        )
        return {
            "content": [dump(block) for block in result.content],
            "structuredContent": result.structured_content,
            "isError": result.is_error,
        }

    async def lists(self):
        client = self.client
        return {
            "tools": await client.list_tools(),
            "resources": await client.list_resources(),
            "templates": await client.list_resource_templates(),
            "prompts": await client.list_prompts(),
        }

    async def read(self, uri):
        return [dump(part) for part in await self.client.read_resource(uri)]

    async def prompt(self, name, arguments):
        return dump(await self.client.get_prompt(name, arguments))

    async def complete(self, name, argument, value):
        reference = types.PromptReference(type="ref/prompt", name=name)
        return (await self.client.complete(reference, {"name": argument, "value": value})).values


class SignIn(OAuth):
    """Its own OAuth code, with the driver for a browser."""

    browser = Browser()

    async def redirect_handler(self, authorization_url):
        await self.browser.redirect(authorization_url)

    async def callback_handler(self):
        return await self.browser.callback()


@asynccontextmanager
async def connected(url, auth=None):
    peer = FastMcp()
    async with Client(
        StreamableHttpTransport(url, auth=auth),
        mode=MODE,
        elicitation_handler=peer.on_elicit,
        message_handler=peer.on_message,
    ) as client:
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
    async with connected(SIGNED_URL, KEY) as peer:
        await greets(peer)


async def with_oauth(url):
    # The driver's browser stops at this port, where nobody listens.
    async with connected(url, SignIn(callback_port=8899, callback_host="127.0.0.1")) as peer:
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
