from edge_servlets import ToolResult as ToolResult
