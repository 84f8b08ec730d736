from edge_servlets import Context
from edge_servlets._context import context

from .._lacks import finder_of
from ..dependencies import CurrentContext as CurrentContext, Depends as Depends


def get_context() -> Context:
    """The context of the call that runs."""
    return context


__getattr__ = finder_of(__name__)
