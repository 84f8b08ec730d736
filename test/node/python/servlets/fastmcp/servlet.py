import logging

from fastmcp import Context, FastMCP
from fastmcp.dependencies import CurrentContext, Depends
from fastmcp.exceptions import FastMCPError, ToolError
from fastmcp.prompts import Message
from fastmcp.prompts.prompt import PromptMessage, TextContent
from fastmcp.resources import ResourceContent, ResourceResult, TextResource
from fastmcp.server.elicitation import AcceptedUrlElicitation
from fastmcp.tools import Tool, tool
from fastmcp.tools.tool import ToolResult
from fastmcp.utilities.logging import get_logger
from fastmcp.utilities.types import Image

logger = get_logger(__name__)


def listed() -> str:
    """In the list of the server."""
    logger.debug("not seen")
    logger.info("seen")
    logging.getLogger("of another").info("not seen")
    return "listed"


mcp = FastMCP(
    "Demo",
    version="1.0",
    mask_error_details=True,
    tools=[listed],
    unheard_of=None,
    cache_ttl=1,
)


class Calculator:
    def __init__(self, by: int) -> None:
        self.by = by

    @tool(description="Multiplies")
    def multiply(self, x: int) -> int:
        return x * self.by


mcp.add_tool(Calculator(3).multiply)


@tool
def plain(self: str) -> str:
    return self


@tool
def alone() -> str:
    cls = "alone"
    return cls


mcp.add_tool(alone)
mcp.add_tool(Tool.from_function(lambda: "made", name="made"))
mcp.add_tool(listed, name="again", description="Again")
mcp.add_resource(TextResource(uri="text://a", name="a", text="A text"))


def base_url(version: int = 1) -> str:
    return f"https://a.example/v{version}"


@mcp.tool
def injected(ctx: Context = CurrentContext(), base: str = Depends(base_url)) -> list[object]:
    return [ctx.client.principal, base, AcceptedUrlElicitation.__name__]


@mcp.tool
def breaks(kind: str) -> str:
    if kind == "shown":
        try:
            raise ToolError("Shown")
        except FastMCPError:
            raise
    raise ValueError("password")


@mcp.resource("broken://{name}")
def breaks_too(name: str) -> str:
    if name == "shown":
        raise ExceptionGroup("several", [ToolError("One"), ToolError("Two")])
    raise ValueError("password")


@mcp.resource("path://{filepath*}")
def path(filepath: str) -> ResourceResult:
    if filepath == "none":
        return ResourceResult([])
    return ResourceResult([ResourceContent(filepath, mime_type="text/x-path")])


@mcp.prompt
def official(topic: str) -> PromptMessage:
    return PromptMessage(role="user", content=TextContent(type="text", text=topic))


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool(
    name="find",
    description="Finds",
    tags={"b", "a"},
    annotations={"readOnlyHint": True},
)
async def search(query: str, ctx: Context) -> str:
    await ctx.info(f"Looking for {query}")
    await ctx.report_progress(1, 2)
    answer = await ctx.elicit("Which?", response_type=["x", "y"])
    if answer.action != "accept":
        raise ToolError("Nothing chosen")
    said = await ctx.sample(f"About {answer.data}", max_tokens=5)
    return f"{answer.data} {said.text}"


@mcp.tool("third", enabled=True)
def picture() -> Image:
    return Image(data=b"\x89PNG", format="png")


@mcp.tool()
def whole() -> ToolResult:
    return ToolResult(content="A", structured_content={"a": 1})


@mcp.tool(enabled=False)
def hidden() -> None: ...


@mcp.resource("config://app")
def config() -> dict[str, int]:
    return {"a": 1}


@mcp.resource("user://{id}/profile", mime_type="text/plain", tags={"users"})
def profile(id: int) -> str:
    return f"user {id + 1}"


@mcp.prompt
def ask(topic: str) -> list[Message]:
    return [Message(f"About {topic}"), Message("Yes?", role="assistant")]


@mcp.completion
def complete(ref, argument, context):
    return [f"{ref.name} {argument.name} {argument.value}"]


if __name__ == "__main__":
    mcp.run()
