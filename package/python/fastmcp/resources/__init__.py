from edge_servlets import ResourceContents as ResourceContent
from edge_servlets._content import ResourceResult as ResourceResult

from .._lacks import finder_of
from ..server import TextResource as TextResource

__getattr__ = finder_of(__name__)
