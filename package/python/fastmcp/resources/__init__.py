from collections.abc import Sequence

from edge_servlets import ResourceContents as ResourceContent

from .._lacks import finder_of
from ..server import TextResource as TextResource


class ResourceResult(list[ResourceContent]):
    """The contents that a resource has."""

    def __init__(self, contents: str | bytes | Sequence[str | bytes | ResourceContent]) -> None:
        given = [contents] if isinstance(contents, (str, bytes)) else contents
        super().__init__(
            one if isinstance(one, ResourceContent) else ResourceContent(one) for one in given
        )


__getattr__ = finder_of(__name__)
