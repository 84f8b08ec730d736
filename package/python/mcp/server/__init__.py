from fastmcp import Context as Context, FastMCP as FastMCP
from fastmcp._lacks import finder_of

MCPServer = FastMCP

__getattr__ = finder_of(__name__)
