from . import Tool as Tool, ToolResult as ToolResult, finder_of

__getattr__ = finder_of(__name__)
