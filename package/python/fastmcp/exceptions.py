from edge_servlets import RpcError, ToolError as ToolError
from edge_servlets._errors import INTERNAL_ERROR, INVALID_PARAMS


class ResourceError(RpcError):
    """An error of a resource, for the client."""

    def __init__(self, message: str) -> None:
        super().__init__(INTERNAL_ERROR, message)


class PromptError(ResourceError):
    """An error of a prompt, for the client."""


class NotFoundError(RpcError):
    def __init__(self, message: str = "Not found") -> None:
        super().__init__(INVALID_PARAMS, message)


class ValidationError(ToolError): ...
