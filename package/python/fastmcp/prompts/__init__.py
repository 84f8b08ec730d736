from edge_servlets import Message as Message, PromptResult as PromptResult

from .._lacks import finder_of

__getattr__ = finder_of(__name__)
