"""Requests to the client: forms, pages, secrets, its model, its roots."""

from typing import Any

from . import _drive, _host
from ._errors import AskError
from ._json import decode_bytes


async def request(what: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Asks the client for one thing. Raises an `AskError` if that fails; `what` is for messages."""
    _host.demand_call(what)
    asker = _drive.asker
    answer = (
        ask({"method": method, "params": params})
        if asker is None
        else await asker.ask(method, params)
    )
    if "result" in answer:
        return answer["result"]
    raise AskError(answer)


def ask(asked: dict[str, Any]) -> dict[str, Any]:
    """Sends one request, or several by keys."""
    return decode_bytes(_host.call("A request to the client", "ask_client", asked) or b"{}")


def unusable(method: str, message: str) -> AskError:
    return AskError({"failed": "unusable-answer", "method": method, "message": message})
