"""Code that the programs of all Python clients share; see ../README.md for their settings."""

import asyncio
import json
import os
import traceback
import urllib.request

URL = os.environ["CLIENT_URL"]
CONTROL = os.environ["CLIENT_CONTROL"]
REVISION = os.environ["CLIENT_REVISION"]
SIGNED_URL = os.environ["CLIENT_SIGNED_URL"]
KEY = os.environ["CLIENT_KEY"]
TEAM_URL = os.environ["CLIENT_TEAM_URL"]
STAY_SECONDS = float(os.environ["CLIENT_STAY_SECONDS"])
# How long a notification of the session's own may be on its way: the server has clients that are silent
# for long come back less often.
PATIENCE_SECONDS = float(os.environ["CLIENT_PATIENCE_SECONDS"])
CALLBACK = "http://127.0.0.1:8899/callback"


class NotOffered(Exception):
    """This client has no means for it."""


cells: dict[str, str] = {}


async def cell(name, step, limit=30.0):
    """Fills one cell of the matrix; a step that takes too long has failed."""
    try:
        await asyncio.wait_for(step(), limit)
        cells[name] = "ok"
    except NotOffered:
        cells[name] = "not offered"
    except TimeoutError:
        cells[name] = f"failed: nothing after {limit:.0f} s"
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if os.environ.get("CLIENT_TRACE"):
            traceback.print_exception(error)
        cells[name] = f"failed: {type(error).__name__}: {error}"[:500]


def expect(holds, *found):
    if not holds:
        raise AssertionError(" ".join(map(str, found)))


async def tell(what, body=""):
    """Asks something of the driver: to break all streams, to end the session, to sign in."""

    def post():
        with urllib.request.urlopen(f"{CONTROL}/{what}", body.encode()) as response:
            return response.read().decode()

    return await asyncio.to_thread(post)


async def within(seconds, holds):
    for _ in range(int(seconds * 20)):
        if holds():
            return True
        await asyncio.sleep(0.05)
    return holds()


def report():
    print(json.dumps(cells), flush=True)
