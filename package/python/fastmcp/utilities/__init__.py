from .._lacks import finder_of

__getattr__ = finder_of(__name__)
