"""Code that the programs of the official SDK's version 2, and of clients built on it, share."""

import asyncio
from urllib.parse import parse_qs, urlparse

import mcp_types as types
from mcp.client.subscriptions import listen
from mcp.shared.auth import AuthorizationCodeResult

from cells import REVISION, tell
from steps import Peer

IS_MODERN = REVISION >= "2026-07-28"
MODE = "auto" if IS_MODERN else "legacy"


class Version2(Peer):
    """A peer over a session of the SDK's."""

    stream = None

    async def on_message(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            self.changed += 1

    async def on_progress(self, _progress, _total, _message):
        self.progressed += 1

    def session_now(self):
        raise NotImplementedError

    async def listen(self):
        if not IS_MODERN:
            return
        # A stream that has broken is opened anew by its user.
        if self.stream is not None:
            self.stream.cancel()
        is_open = asyncio.Event()

        async def follow():
            async with listen(self.session_now(), tools_list_changed=True) as events:
                is_open.set()
                async for _event in events:
                    self.changed += 1

        self.stream = asyncio.create_task(follow())
        await asyncio.wait_for(is_open.wait(), 10)


def dump(result):
    return result.model_dump(mode="json", by_alias=True)


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


class Browser:
    """Signs in through the driver."""

    def __init__(self):
        self.back = {}

    async def redirect(self, url):
        self.back = parse_qs(urlparse(await tell("browse", url)).query)

    async def callback(self):
        given = {key: values[0] for key, values in self.back.items()}
        return AuthorizationCodeResult(
            code=given["code"], state=given.get("state"), iss=given.get("iss")
        )
