"""As the documents of the official SDK begin."""

from dataclasses import dataclass

import mcp.types as types
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.prompts import base
from mcp.server.fastmcp.utilities.logging import get_logger
from mcp.server.session import ServerSession
from mcp.types import CallToolResult, TextContent, ToolAnnotations

logger = get_logger(__name__)
server = FastMCP("greeter", host="127.0.0.1", stateless_http=True)


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def greet(name: str, ctx: Context) -> str:
    """Says hello."""
    await ctx.info(f"greeting {name}")
    return f"Hello, {name}!"


@dataclass
class Choice:
    seats: int


@server.tool()
async def book(ctx: Context[ServerSession, None]) -> str:
    answer = await ctx.elicit(message="How many?", schema=Choice)
    return f"{answer.data.seats} {server.get_context().request_id}" if answer else "none"


@server.tool()
def lines() -> list[TextContent]:
    return [types.TextContent(type="text", text="one"), TextContent(type="text", text="two")]


@server.tool()
def fails() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="no")], isError=True)


@server.prompt(title="Debug")
def debug(error: str) -> list[base.Message]:
    return [base.UserMessage(error), base.AssistantMessage("What have you tried?")]


@server.resource("greeting://{name}")
def greeting(name: str) -> str:
    """A greeting."""
    return f"Hello, {name}!"


if __name__ == "__main__":
    server.run(transport="stdio")
