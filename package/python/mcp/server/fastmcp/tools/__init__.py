from fastmcp._lacks import finder_of
from fastmcp.tools import Tool as Tool

__getattr__ = finder_of(__name__)
