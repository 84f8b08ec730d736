from ...fastmcp.prompts.base import (
    AssistantMessage as AssistantMessage,
    Message as Message,
    UserMessage as UserMessage,
)
