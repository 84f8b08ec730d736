"""FastMCP's words for a servlet: `from fastmcp import FastMCP, Context` for servers that were written for FastMCP.

What it has is `edge_servlets`; what it lacks is named while the servlet is built, with what to write instead.
"""

from edge_servlets import Context as Context

from ._lacks import finder_of
from .server import FastMCP as FastMCP
from .utilities.types import Audio as Audio, Image as Image

__getattr__ = finder_of(__name__)
