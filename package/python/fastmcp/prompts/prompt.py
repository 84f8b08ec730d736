from mcp.types import (
    EmbeddedResource as EmbeddedResource,
    ImageContent as ImageContent,
    PromptMessage as PromptMessage,
    TextContent as TextContent,
)

from . import Message as Message, PromptResult as PromptResult, finder_of

__getattr__ = finder_of(__name__)
