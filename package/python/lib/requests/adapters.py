DEFAULT_POOLSIZE, DEFAULT_RETRIES = 10, 0


class BaseAdapter: ...


class HTTPAdapter(BaseAdapter):
    """Is taken by `Session.mount`, and does nothing: the host sends requests."""

    def __init__(self, *args, **options): ...
