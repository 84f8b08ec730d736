from edge_servlets import Audio as Audio, File as File, Image as Image

from .._lacks import finder_of

__getattr__ = finder_of(__name__)
