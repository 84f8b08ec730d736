from edge_servlets import Context
from edge_servlets._context import context


def get_context() -> Context:
    """The context of the call that runs."""
    return context
