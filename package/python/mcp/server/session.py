from fastmcp._lacks import finder_of


class ServerSession:
    """A type in hints, as in `Context[ServerSession, None]`."""


__getattr__ = finder_of(__name__)
