from fastmcp.utilities.logging import get_logger as get_logger
