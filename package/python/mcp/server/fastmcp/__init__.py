from fastmcp import Context as Context, FastMCP as FastMCP, Image as Image
