from edge_servlets import RpcError
from ..types import ErrorData


class McpError(RpcError):
    def __init__(self, error: ErrorData) -> None:
        super().__init__(error.code, error.message, error.data)
        self.error = error


# The name and the parameters of version 2.
MCPError = RpcError
