from _http_clients import Cookies as RequestsCookieJar

__all__ = ["RequestsCookieJar", "cookiejar_from_dict"]


def cookiejar_from_dict(given, *more):
    return RequestsCookieJar(given)
