from fastmcp.tools import Tool as Tool
