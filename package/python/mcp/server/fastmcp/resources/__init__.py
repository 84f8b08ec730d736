from fastmcp._lacks import finder_of
from fastmcp.resources import TextResource as TextResource

__getattr__ = finder_of(__name__)
