from fastmcp._lacks import finder_of
from fastmcp.utilities.logging import get_logger as get_logger

__getattr__ = finder_of(__name__)
