from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message
from fastmcp.tools.tool import ToolResult
from fastmcp.utilities.types import Image

mcp = FastMCP("Demo", version="1.0", mask_error_details=True)


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
