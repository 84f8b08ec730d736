"""Calls of a servlet's own tools at set times, for its caller."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, overload

from . import _host
from ._content import some


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule of the caller: what `schedule` has made."""

    id: str
    tool: str
    arguments: dict[str, Any]
    next: datetime | None
    """When it is due next, in UTC; None if it is over or paused."""
    last: datetime | None
    """When its last run began."""
    at: str | None = None
    every: timedelta | None = None
    cron: str | None = None
    time_zone: str | None = None
    paused: str | None = None
    """Why it is paused."""


@overload
async def schedule(
    _: object,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    at: datetime | str,
    time_zone: str | None = None,
    id: str | None = None,
) -> Schedule: ...
@overload
async def schedule(
    _: object,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    every: timedelta,
    id: str | None = None,
) -> Schedule: ...
@overload
async def schedule(
    _: object,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    cron: str,
    time_zone: str | None = None,
    id: str | None = None,
) -> Schedule: ...
async def schedule(
    _: object,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    at: datetime | str | None = None,
    every: timedelta | None = None,
    cron: str | None = None,
    time_zone: str | None = None,
    id: str | None = None,
) -> Schedule:
    """Has a tool of this servlet called later, for the caller and with the rights that the caller has then.

    `at` is a time, or a local time of the time zone such as "2030-12-04T09:00"; `every` is at least a minute; `cron` has minute,
    hour, day of the month, month and day of the week. `time_zone` is an IANA name; UTC by default. An `id` replaces the caller's
    schedule of that id. Raises a `RuntimeError` that says what to change.
    """
    if isinstance(at, datetime):
        at = at.isoformat(timespec="seconds")
    # Random numbers are the same if the call is repeated, and so is the schedule.
    given = {"id": id or os.urandom(8).hex(), "tool": tool}
    period = None if every is None else round(every / timedelta(milliseconds=1))
    more = some(arguments=arguments, at=at, every=period, cron=cron, timeZone=time_zone)
    return _made(await _host.call_host("schedule()", "schedules.add", {**given, **more}))


async def schedules(_: object) -> list[Schedule]:
    """The schedules that this servlet has made for the caller, by when they are due."""
    return [_made(one) for one in await _host.call_host("schedules()", "schedules.list", {})]


async def cancel_schedule(_: object, id: str) -> bool:
    """Cancels a schedule of the caller; a run that has begun goes on. False if there is none with this id."""
    return await _host.call_host("cancel_schedule()", "schedules.cancel", {"id": id})


def _made(answer: dict[str, Any]) -> Schedule:
    every = answer.get("every")
    return Schedule(
        answer["id"],
        answer["tool"],
        answer["arguments"],
        _time(answer["next"]),
        _time(answer["last"]),
        answer.get("at"),
        None if every is None else timedelta(milliseconds=every),
        answer.get("cron"),
        answer.get("timeZone"),
        answer.get("paused"),
    )


def _time(ms: float | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, timezone.utc)
