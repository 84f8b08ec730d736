"""As the documents of the official SDK begin."""

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

mcp = FastMCP("greeter")


@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def greet(name: str, ctx: Context) -> str:
    """Says hello."""
    await ctx.info(f"greeting {name}")
    return f"Hello, {name}!"


@mcp.resource("greeting://{name}")
def greeting(name: str) -> str:
    """A greeting."""
    return f"Hello, {name}!"


if __name__ == "__main__":
    mcp.run(transport="stdio")
