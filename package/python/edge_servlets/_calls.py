"""Calls of tools of other servlets."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from . import _drive, _host
from ._content import Content
from ._errors import ToolCallError
from ._json import decode_bytes


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """What a tool of another servlet gave. One that fails in its own way gives a result with `is_error`."""

    content: list[Content]
    structured_content: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The texts of its content."""
        return "\n".join(block.text for block in self.content if block.type == "text")


async def call_tool(name: str, arguments: Mapping[str, Any] | None = None) -> ToolCallResult:
    """Calls a tool of another servlet, by the name that the server lists, with the rights of the caller.

    `may_call` in servlet.json must have it. Calls that are begun together are made together. Raises a `ToolCallError`.
    """
    _host.demand_call("call_tool()")
    given = dict(arguments or {})
    asker = _drive.asker
    answer = (
        call({"name": name, "arguments": given})
        if asker is None
        else await asker.call_tool(name, given)
    )
    if "result" not in answer:
        raise ToolCallError(name, answer)
    result = answer["result"]
    content = [Content(block) for block in result.get("content", ())]
    return ToolCallResult(
        content, result.get("structuredContent"), result.get("isError", False), result.get("_meta")
    )


def call(asked: dict[str, Any]) -> dict[str, Any]:
    """Makes one call, or several by keys."""
    return decode_bytes(_host.call("call_tool()", "call_tool", asked) or b"{}")


type ToolFunction = Callable[..., Coroutine[Any, Any, ToolCallResult]]


class Tools:
    """The tools of other servlets as functions.

    Example:
        forecast = await ctx.tools.forecast(city="Bern")
        again = await ctx.tools["weather-forecast"]({"city": "Bern"})
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> ToolFunction:
        def tool(
            arguments: Mapping[str, Any] | None = None, /, **named: Any
        ) -> Coroutine[Any, Any, ToolCallResult]:
            return call_tool(name, {**(arguments or {}), **named})

        return tool

    def __getattr__(self, name: str) -> ToolFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]
