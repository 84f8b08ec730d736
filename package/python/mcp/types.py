"""Content and results, whose members have the names that the protocol gives them."""

from collections.abc import Sequence
from typing import Any

from edge_servlets import Content, Icon as Icon, ToolAnnotations as ToolAnnotations, ToolResult

TextContent = ImageContent = AudioContent = EmbeddedResource = ResourceLink = Content
TextResourceContents = BlobResourceContents = dict[str, Any]


class CallToolResult(ToolResult):
    def __init__(
        self,
        *,
        content: Sequence[Content] = (),
        structuredContent: dict[str, Any] | None = None,
        isError: bool = False,
        _meta: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(list(content), structuredContent, is_error=isError, meta=_meta)
