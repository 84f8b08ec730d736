from fastmcp.exceptions import (
    FastMCPError as FastMCPError,
    ResourceError as ResourceError,
    ToolError as ToolError,
    ValidationError as ValidationError,
)
