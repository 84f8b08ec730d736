from fastmcp._lacks import finder_of

from . import base as base

__getattr__ = finder_of(__name__)
