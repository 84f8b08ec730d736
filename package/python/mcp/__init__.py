"""The names of the official SDK that servers of one file import: those of `fastmcp` beside it."""

from fastmcp._lacks import finder_of

from .shared.exceptions import McpError as McpError, MCPError as MCPError

__getattr__ = finder_of(__name__)
