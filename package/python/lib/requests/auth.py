from _http_clients import basic


class AuthBase:
    """Is called with the request, whose headers it adds to."""

    def __call__(self, request):
        raise NotImplementedError("Auth hooks must be callable.")


class HTTPBasicAuth(AuthBase):
    def __init__(self, username, password):
        self.username, self.password = username, password

    def __call__(self, request):
        request.headers["Authorization"] = basic(self.username, self.password)
        return request


class HTTPDigestAuth(AuthBase):
    def __init__(self, username, password):
        raise NotImplementedError("there is no HTTPDigestAuth in a servlet")
