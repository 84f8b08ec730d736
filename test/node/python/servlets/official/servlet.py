"""As the documents of the official SDK begin."""

import asyncio
from dataclasses import dataclass

import mcp.types as types
import mcp_types
from mcp import McpError
from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedUrlElicitation
from mcp.server.fastmcp import Audio, Context, FastMCP, Icon
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.fastmcp.prompts import base
from mcp.server.fastmcp.resources import TextResource
from mcp.server.fastmcp.utilities.logging import get_logger
from mcp.server.mcpserver import MCPServer as Named
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities import logging
from mcp.server.session import ServerSession
from mcp.shared.exceptions import McpError as Shared
from mcp.types import (
    Annotations,
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    ErrorData,
    PromptMessage,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)

assert FastMCP is MCPServer is Named
assert McpError is Shared
assert logging.get_logger is get_logger
assert Tool and TextResource
assert not hasattr(types, "unknown")
assert PromptMessage is SamplingMessage

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
    return CallToolResult(
        content=[TextContent(type="text", text="no")], structuredContent={}, isError=True
    )


@server.tool()
def shows() -> mcp_types.ImageContent:
    image = mcp_types.ImageContent(data="eA==", mime_type="image/png")
    assert image.mimeType == image.mime_type == "image/png"
    assert isinstance(image, mcp_types.ImageContent) and not isinstance(image, TextContent)
    assert image.annotations is None and not hasattr(image, "unknown")
    return image


@server.tool()
def contents() -> types.TextResourceContents | types.BlobResourceContents:
    return types.TextResourceContents(uri="note://a", text="a")


@server.tool()
def refuses() -> str:
    raise McpError(ErrorData(code=-32000, message="Not now"))


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    if isinstance(ref, ResourceTemplateReference) and ref.uri == "greeting://{name}":
        return Completion(values=[one for one in ["Ada", "Bob"] if one.startswith(argument.value)])
    return None


@server.prompt(title="Debug")
def debug(error: str) -> list[base.Message]:
    return [base.UserMessage(error), base.AssistantMessage("What have you tried?")]


@server.resource("greeting://{name}")
def greeting(name: str) -> str:
    """A greeting."""
    return f"Hello, {name}!"


if __name__ == "__main__":
    server.run(transport="stdio")


async def main() -> None:
    await server.run_stdio_async()
    await server.run_streamable_http_async()


asyncio.run(main())
