from edge_servlets import ToolResult as ToolResult

from .._lacks import finder_of
from ..server import Tool as Tool, tool as tool

__getattr__ = finder_of(__name__)
