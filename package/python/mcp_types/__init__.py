"""The types of version 2 of the official SDK."""

from fastmcp._lacks import finder_of
from mcp.types import *  # noqa: F403

__getattr__ = finder_of(__name__)
