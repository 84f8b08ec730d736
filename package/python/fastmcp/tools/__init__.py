from edge_servlets import ToolResult as ToolResult, tool as tool
