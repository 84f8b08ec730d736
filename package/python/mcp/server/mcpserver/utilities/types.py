from fastmcp.utilities.types import Audio as Audio, Image as Image
