"""Watches pages and feeds for each caller. What is new in one is an event, which tells the caller's clients."""

import hashlib
import json
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, TypedDict

from edge_servlets import Context, Response, ToolError, event, fetch, tool

MOST_WATCHES = 50
MOST_BYTES = 2_000_000
MOST_ENTRIES = 200
"""Entries of a feed that are remembered: older ones are not looked at."""
MOST_LEVELS = 50
"""Elements of a feed within each other: Python has no stack for very many."""
TOLD = 20
"""Entries that one event names."""
TOLD_BYTES = 50_000
"""Their bytes as JSON: an event may have 64 KiB."""

Url = Annotated[str, "Its https URL: a feed (RSS, Atom), or any page."]


class Entry(TypedDict):
    title: str
    link: str


class Changed(TypedDict):
    url: str
    entries: list[Entry]
    """What is new in a feed; empty where a page has changed."""


changed = event("watch.changed", "A page or feed that the caller watches has something new", payload=Changed)


@dataclass
class Watch:
    """A page or feed, as it was when it was last read."""

    every: int
    etag: str | None = None
    modified: str | None = None
    digest: str | None = None
    seen: list[str] = field(default_factory=list[str])
    problem: str | None = None


watches: dict[str, Watch] = {}


@tool
async def watch_page(
    ctx: Context,
    url: Url,
    minutes: Annotated[int, "How often it is read: each 5 minutes at most."] = 60,
) -> str:
    """Watches a page or feed: when it has something new, the event watch.changed tells the user's client."""
    if not 5 <= minutes <= 10_080:
        raise ToolError("minutes must be from 5 to 10080, which is a week.")
    if url not in watches and len(watches) >= MOST_WATCHES:
        raise ToolError(f"{MOST_WATCHES} pages are watched, which is the limit. Leave one first.")
    watch = Watch(minutes)
    await _read(url, watch)
    if watch.problem:
        raise ToolError(f"{url} cannot be watched: {watch.problem}")
    await ctx.schedule("look", {"url": url}, every=timedelta(minutes=minutes), id=_digest(url))
    watches[url] = watch
    known = f"a feed with {len(watch.seen)} entries" if watch.seen else "a page"
    return f"Watching {url}, {known}, every {minutes} minutes."


@tool(annotations={"readOnlyHint": True})
def watched_pages() -> str:
    """Lists the pages and feeds that are watched, with the problems of those that could not be read."""
    lines = [
        f"{url}, every {one.every} minutes" + (f": {one.problem}" if one.problem else "")
        for url, one in watches.items()
    ]
    return "\n".join(lines) or "Nothing is watched."


@tool
async def leave_page(ctx: Context, url: Url) -> str:
    """Stops watching a page or feed."""
    if watches.pop(url, None) is None:
        raise ToolError(f"{url} is not watched. See watched_pages.")
    await ctx.cancel_schedule(_digest(url))
    return f"{url} is not watched any more."


@tool(visibility=["app"])
async def look(ctx: Context, url: Url) -> str:
    """Reads a page or feed that is watched, and tells what is new."""
    watch = watches.get(url)
    if watch is None:
        await ctx.cancel_schedule(_digest(url))
        return "It is not watched any more."
    entries = await _read(url, watch)
    if entries is None:
        return watch.problem or "Nothing is new."
    await ctx.emit(changed, {"url": url, "entries": _told(entries)})
    return f"{len(entries)} entries are new." if entries else "It has changed."


async def _read(url: str, watch: Watch) -> list[Entry] | None:
    """The new entries of a feed, or no entries of a page that has changed; None if nothing is new."""
    headers = {
        name: value
        for name, value in (("if-none-match", watch.etag), ("if-modified-since", watch.modified))
        if value
    }
    try:
        response = await fetch(url, headers=headers)
    except Exception as error:
        watch.problem = str(error)
        return None
    if response.status == 304:
        watch.problem = None
        return None
    watch.problem = _problem_of(response)
    if watch.problem:
        return None
    watch.etag, watch.modified = response.headers.get("etag"), response.headers.get("last-modified")
    digest = hashlib.sha256(response.content).hexdigest()
    is_first, is_same = watch.digest is None, watch.digest == digest
    watch.digest = digest
    if is_same:
        return None
    found = _entries_in(response.content)
    if found is None:
        return None if is_first else []
    new = [entry for key, entry in found if key not in watch.seen]
    watch.seen = [key for key, _ in found][:MOST_ENTRIES]
    return None if is_first or not new else new


def _problem_of(response: Response) -> str | None:
    if response.status != 200:
        return f"its server answers {response.status}"
    if len(response.content) > MOST_BYTES:
        return f"it has more than {MOST_BYTES} bytes"
    return None


def _entries_in(content: bytes) -> list[tuple[str, Entry]] | None:
    """The entries of a feed with their ids; None for anything else."""
    # Entities may be of any size; UTF-16, which has zeros, would hide them.
    if b"<!ENTITY" in content or b"\0" in content:
        return None
    root = _root_of(content)
    if root is None or _name(root) not in ("rss", "feed", "RDF"):
        return None
    items = [one for one in root.iter() if _name(one) in ("item", "entry")][:MOST_ENTRIES]
    return [_entry(one) for one in items]


def _root_of(content: bytes) -> xml.Element | None:
    """The root of a document; None if it is not XML, or has too many levels."""
    parser = xml.XMLPullParser(("start", "end"))
    root, level = None, 0
    try:
        # In pieces, which are too small for very many levels.
        for at in range(0, len(content), 1000):
            parser.feed(content[at : at + 1000])
            for kind, element in parser.read_events():
                root = element if root is None else root
                level += 1 if kind == "start" else -1
                if level > MOST_LEVELS:
                    return None
        parser.close()
    except xml.ParseError:
        return None
    return root


def _entry(item: xml.Element) -> tuple[str, Entry]:
    parts: dict[str, Any] = {}
    for one in item:
        text = (one.text or one.get("href") or "").strip()
        if text:
            parts.setdefault(_name(one), text)
    link, title = parts.get("link", ""), parts.get("title", "")
    key = parts.get("guid") or parts.get("id") or link or title
    return _digest(key), {"title": title[:300], "link": link[:2000]}


def _told(entries: list[Entry]) -> list[Entry]:
    """As many of the entries as fit an event."""
    told = entries[:TOLD]
    while len(json.dumps(told, ensure_ascii=False).encode()) > TOLD_BYTES:
        told.pop()
    return told


def _name(element: xml.Element) -> str:
    """Its name without a namespace."""
    return element.tag.rpartition("}")[2]


def _digest(text: str) -> str:
    """The id of a schedule or an entry, which is short however long the text is."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
