"""Content and results, whose members have the names that the protocol gives them, or those of version 2 of the SDK."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from edge_servlets import (
    Annotations as Annotations,
    Content,
    Icon as Icon,
    Message,
    PromptResult,
    ResourceContents,
    ToolAnnotations as ToolAnnotations,
    ToolResult,
)
from fastmcp._lacks import finder_of
from fastmcp.server import (
    PromptReference as PromptReference,
    ResourceTemplateReference as ResourceTemplateReference,
)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


def _wire_name(name: str) -> str:
    """`mime_type` as `mimeType`."""
    return "_meta" if name == "meta" else re.sub(r"(?<=\w)_(\w)", lambda at: at[1].upper(), name)


class _Kind(type):
    """Has content that the client gives be of a class by its type."""

    _kind: str

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Content) and value.type == cls._kind


_MEMBERS = frozenset(
    "_meta annotations blob data description icons mimeType name resource size text title uri".split()
)


class _Members(dict[str, Any]):
    """Has its members as attributes, which are None where they were left out."""

    def __init__(self, **members: Any) -> None:
        dict.__init__(self, {_wire_name(name): value for name, value in members.items()})

    def __getattr__(self, name: str) -> Any:
        if _wire_name(name) in _MEMBERS:
            return self.get(_wire_name(name))
        raise AttributeError(name)


class _Block(_Members, Content, metaclass=_Kind):
    def __init__(self, **members: Any) -> None:
        super().__init__(**{"type": self._kind, **members})


class TextContent(_Block):
    _kind = "text"


class ImageContent(_Block):
    _kind = "image"


class AudioContent(_Block):
    _kind = "audio"


class EmbeddedResource(_Block):
    _kind = "resource"


class ResourceLink(_Block):
    _kind = "resource_link"


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class TextResourceContents(_Members, ResourceContents): ...


class BlobResourceContents(_Members, ResourceContents): ...


PromptMessage = SamplingMessage = Message


class CallToolResult(ToolResult):
    def __init__(
        self,
        *,
        content: Sequence[Content] = (),
        structuredContent: dict[str, Any] | None = None,
        isError: bool = False,
        _meta: dict[str, Any] | None = None,
        structured_content: dict[str, Any] | None = None,
        is_error: bool = False,
        meta: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            list(content),
            structured_content if structuredContent is None else structuredContent,
            is_error=isError or is_error,
            meta=_meta or meta,
        )


class GetPromptResult(PromptResult):
    def __init__(self, *, messages: Sequence[Message], description: str | None = None) -> None:
        super().__init__(messages, description=description)


class Completion(list[str]):
    """The values alone: the server counts them."""

    def __init__(
        self,
        *,
        values: Sequence[str],
        total: int | None = None,
        hasMore: bool | None = None,
        has_more: bool | None = None,
    ) -> None:
        super().__init__(values)


class CompletionArgument(SimpleNamespace):
    """A type in hints: the argument, as `name` and `value`."""


class CompletionContext(SimpleNamespace):
    """A type in hints: the other arguments, as `arguments`."""


@dataclass
class ErrorData:
    code: int
    message: str
    data: Any = None


__getattr__ = finder_of(__name__)
