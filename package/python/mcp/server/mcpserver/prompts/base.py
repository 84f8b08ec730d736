from fastmcp._lacks import finder_of

from ...fastmcp.prompts.base import (
    AssistantMessage as AssistantMessage,
    Message as Message,
    UserMessage as UserMessage,
)

__getattr__ = finder_of(__name__)
