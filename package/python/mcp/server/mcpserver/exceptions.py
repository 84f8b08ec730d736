from fastmcp._lacks import finder_of
from fastmcp.exceptions import (
    FastMCPError as MCPServerError,
    ResourceError as ResourceError,
    ToolError as ToolError,
    ValidationError as ValidationError,
)

__getattr__ = finder_of(__name__)
