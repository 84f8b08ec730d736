from fastmcp._lacks import finder_of
from fastmcp.utilities.types import Audio as Audio, Image as Image

__getattr__ = finder_of(__name__)
