"""Events: their definitions, and how a run emits them."""

import os
from typing import Any, Literal

from ._content import Json, some
from ._definitions import definitions
from ._errors import DefinitionError
from ._host import call_host
from ._schema import Shapes


def event(
    name: str,
    description: str,
    *,
    payload: Any,
    input: Any = None,
    to: Literal["everyone"] | None = None,
) -> str:
    """Defines a type of events, which clients and people subscribe to. Returns its name.

    `payload` is the type of the data: a TypedDict or dataclass, or a JSON Schema of an object. `input` is such a type of the
    arguments by which a subscriber narrows it: each one given must equal the member of the data with the same name.
    `to="everyone"` allows events for all callers.

    Example:
        class Opened(TypedDict):
            repository: str
            title: str

        opened = event("issue.opened", "An issue was opened", payload=Opened)

        @tool
        async def open_issue(ctx: Context, repository: str, title: str) -> str:
            await ctx.emit(opened, {"repository": repository, "title": title})
            return "opened"
    """
    events = definitions.declared.setdefault("events", {})
    if name in events:
        raise DefinitionError(f'There is another event "{name}".')
    events[name] = {
        "description": description,
        "payload": _object_schema(payload, f'The payload of the event "{name}"', output=True),
        **some(
            input=None
            if input is None
            else _object_schema(input, f'The input of the event "{name}"', output=False),
            to=to,
        ),
    }
    return name


def _object_schema(given: Any, what: str, *, output: bool) -> Json:
    schema = given if isinstance(given, dict) else Shapes(output=output).root(given).schema
    if schema.get("type") != "object":
        raise DefinitionError(
            f"{what} does not describe an object: give a TypedDict, a dataclass or a JSON Schema of an object."
        )
    return schema


async def emit(
    _: object,
    name: str,
    data: Any,
    *,
    id: str | None = None,
    to: Literal["everyone"] | None = None,
) -> str:
    """Emits an event that the servlet defines with `event`, and returns its id.

    The caller's own subscribers hear it; with `to="everyone"`, which the definition must allow, those of all callers. `id` is
    the source's own id of the event, of at most 200 visible ASCII characters: an id that the log of events still has is not
    emitted again. By default the id is random. Raises a `RuntimeError` if the event is unknown, or `data` does not match its
    payload or is too large.
    """
    given = os.urandom(16).hex() if id is None else id
    await call_host(
        "emit()", "events.emit", {"name": name, "data": data, "id": given, **some(to=to)}
    )
    return given
