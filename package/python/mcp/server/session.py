class ServerSession:
    """A type in hints, as in `Context[ServerSession, None]`."""
