from fastmcp.exceptions import (
    FastMCPError as MCPServerError,
    ResourceError as ResourceError,
    ToolError as ToolError,
    ValidationError as ValidationError,
)
