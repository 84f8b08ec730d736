from edge_servlets import Message as Message


class UserMessage(Message):
    def __init__(self, content: object) -> None:
        super().__init__(content)


class AssistantMessage(Message):
    def __init__(self, content: object) -> None:
        super().__init__(content, "assistant")
