from edge_servlets import Message as Message
from fastmcp._lacks import finder_of


class UserMessage(Message):
    def __init__(self, content: object) -> None:
        super().__init__(content)


class AssistantMessage(Message):
    def __init__(self, content: object) -> None:
        super().__init__(content, "assistant")


__getattr__ = finder_of(__name__)
