"""FastMCP's words for a servlet: `from fastmcp import FastMCP, Context` for servers that were written for FastMCP.

What it has is `edge_servlets`; what it lacks is named while the servlet is built, with what to write instead.
"""

from edge_servlets import Context as Context

from ._lacks import refuse_import
from .server import FastMCP as FastMCP
from .utilities.types import Audio as Audio, Image as Image


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    refuse_import(name)
