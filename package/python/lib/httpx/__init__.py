"""`httpx` over the kit's `fetch`, which follows redirects and limits time itself. A response is whole."""

import datetime
import json as _json
from contextlib import asynccontextmanager, contextmanager
from enum import IntEnum
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import _http_clients as _common
from _http_clients import Cookies as Cookies, Headers as Headers

__version__ = "0.28.1"
USE_CLIENT_DEFAULT = None

codes = IntEnum("codes", {one.name: one.value for one in HTTPStatus})


class HTTPError(Exception):
    def __init__(self, message="", *, request=None):
        super().__init__(message)
        self._request = request

    @property
    def request(self):
        if self._request is None:
            raise RuntimeError("The .request property has not been set.")
        return self._request


class RequestError(HTTPError): ...


class TransportError(RequestError): ...


class TimeoutException(TransportError): ...


class ConnectTimeout(TimeoutException): ...


class ReadTimeout(TimeoutException): ...


class WriteTimeout(TimeoutException): ...


class PoolTimeout(TimeoutException): ...


class NetworkError(TransportError): ...


class ConnectError(NetworkError): ...


class ReadError(NetworkError): ...


class WriteError(NetworkError): ...


class CloseError(NetworkError): ...


class ProtocolError(TransportError): ...


class LocalProtocolError(ProtocolError): ...


class RemoteProtocolError(ProtocolError): ...


class ProxyError(TransportError): ...


class UnsupportedProtocol(TransportError): ...


class DecodingError(RequestError): ...


class TooManyRedirects(RequestError): ...


class HTTPStatusError(HTTPError):
    def __init__(self, message, *, request, response):
        super().__init__(message, request=request)
        self.response = response


class InvalidURL(Exception): ...


class CookieConflict(Exception): ...


class StreamError(RuntimeError): ...


class Timeout:
    """Is taken, and does nothing: the host limits the time of requests."""

    def __init__(self, timeout=None, **parts):
        self.connect = self.read = self.write = self.pool = timeout
        vars(self).update(parts)


class Limits:
    def __init__(self, **limits):
        vars(self).update(limits)


class _Transport:
    def __init__(self, **options): ...


HTTPTransport = AsyncHTTPTransport = BaseTransport = AsyncBaseTransport = _Transport


def __getattr__(name):
    if name in ("MockTransport", "ASGITransport", "WSGITransport", "Proxy", "DigestAuth", "NetRCAuth"):
        raise AttributeError(f"there is no httpx.{name} in a servlet: the host sends its requests")
    raise AttributeError(f"module 'httpx' has no attribute {name!r}")


class QueryParams(dict):
    def __init__(self, given=(), **more):
        super().__init__(parse_qsl(given, keep_blank_values=True) if isinstance(given, str) else given or (), **more)

    def __str__(self):
        return urlencode(self, doseq=True)

    def set(self, key, value):
        return QueryParams({**self, key: value})

    add = set

    def merge(self, given=()):
        return QueryParams({**self, **QueryParams(given)})


class URL(str):
    """A URL as text, with its parts."""

    def __new__(cls, url="", *, params=None, **parts):
        text = str(url)
        if params:
            text += ("&" if "?" in text else "?") + str(QueryParams(params))
        if parts:
            known = {"host": "netloc", "query": "query", "path": "path", "scheme": "scheme", "fragment": "fragment"}
            given = {known[name]: _common.text_of(value) for name, value in parts.items()}
            text = urlunsplit(urlsplit(text)._replace(**given))
        return super().__new__(cls, text)

    scheme = property(lambda self: urlsplit(self).scheme)
    host = property(lambda self: urlsplit(self).hostname or "")
    port = property(lambda self: urlsplit(self).port)
    path = property(lambda self: urlsplit(self).path or "/")
    query = property(lambda self: urlsplit(self).query.encode())
    fragment = property(lambda self: urlsplit(self).fragment)
    params = property(lambda self: QueryParams(urlsplit(self).query))

    def join(self, url):
        return URL(urljoin(self, str(url)))

    def copy_with(self, **parts):
        return URL(self, **parts)

    def copy_merge_params(self, params):
        return URL(self.partition("?")[0], params=self.params.merge(params))


class Request:
    def __init__(self, method, url, *, params=None, headers=None, cookies=None, content=None, data=None, files=None, json=None, **options):
        self.method, self.url = method.upper(), URL(url)
        self.headers = Headers(headers)
        self._body = {"params": params, "data": content if content is not None else data, "files": files, "json": json}

    @property
    def content(self):
        return self._body["data"]


class Auth:
    """Yields the request with its headers."""

    def auth_flow(self, request):
        yield request

    sync_auth_flow = auth_flow


class BasicAuth(Auth):
    def __init__(self, username, password):
        self._header = _common.basic(username, password)

    def auth_flow(self, request):
        request.headers["Authorization"] = self._header
        yield request


class Response(_common.Exchange):
    http_version = "HTTP/1.1"
    elapsed = datetime.timedelta(0)
    is_closed = is_stream_consumed = True
    next_request = None

    def __init__(self, sent, made, cookies):
        super().__init__(sent, made, cookies)
        self.url = URL(made.url)
        self.reason_phrase = _common.reason_of(made.status)

    is_informational = property(lambda self: self.status_code < 200)
    is_success = property(lambda self: 200 <= self.status_code < 300)
    is_redirect = has_redirect_location = property(lambda self: 300 <= self.status_code < 400)
    is_client_error = property(lambda self: 400 <= self.status_code < 500)
    is_server_error = property(lambda self: self.status_code >= 500)
    is_error = property(lambda self: self.status_code >= 400)

    @property
    def links(self):
        from requests.utils import parse_header_links

        return {one.get("rel") or one["url"]: one for one in parse_header_links(self.headers.get("link", ""))}

    def json(self, **options):
        return _json.loads(self.content, **options)

    def raise_for_status(self):
        if self.is_success:
            return self
        kinds = {1: "Informational response", 3: "Redirect response", 4: "Client error", 5: "Server error"}
        message = f"{kinds.get(self.status_code // 100, 'Error')} '{self.status_code} {self.reason_phrase}' for url '{self.url}'"
        raise HTTPStatusError(message, request=self.request, response=self)

    def read(self):
        return self.content

    def iter_bytes(self, chunk_size=None):
        size = chunk_size or max(1, len(self.content))
        for at in range(0, len(self.content), size):
            yield self.content[at : at + size]

    iter_raw = iter_bytes

    def iter_text(self, chunk_size=None):
        size = chunk_size or max(1, len(self.text))
        for at in range(0, len(self.text), size):
            yield self.text[at : at + size]

    def iter_lines(self):
        yield from self.text.splitlines()

    async def aread(self):
        return self.content

    async def aclose(self): ...

    async def aiter_bytes(self, chunk_size=None):
        for part in self.iter_bytes(chunk_size):
            yield part

    aiter_raw = aiter_bytes

    async def aiter_text(self, chunk_size=None):
        for part in self.iter_text(chunk_size):
            yield part

    async def aiter_lines(self):
        for line in self.iter_lines():
            yield line

    def __repr__(self):
        return f"<Response [{self.status_code} {self.reason_phrase}]>"


class _Client:
    def __init__(self, *, auth=None, params=None, headers=None, cookies=None, base_url="", event_hooks=None, timeout=None, **options):
        self.auth, self.params, self.headers = auth, QueryParams(params or ()), Headers(headers)
        self.cookies, self.base_url, self.timeout = Cookies(cookies), URL(base_url), timeout
        self.event_hooks = {"request": [], "response": [], **(event_hooks or {})}
        self.is_closed = False

    def build_request(self, method, url, *, params=None, headers=None, cookies=None, **body):
        url = str(url)
        if self.base_url and "://" not in url:
            url = f"{self.base_url.rstrip('/')}/{url.lstrip('/')}"
        options = {name: body.get(name) for name in ("content", "data", "files", "json")}
        both = {**self.params, **QueryParams(params)} if params or self.params else None
        if params and not isinstance(params, (str, dict)):
            both = [*self.params.items(), *params]
        made = Request(method, url, params=both, headers={**self.headers, **Headers(headers)}, **options)
        cookie = self.cookies.header_for(url, cookies)
        if cookie:
            made.headers.setdefault("cookie", cookie)
        return made

    def _login(self, request, auth):
        auth = auth if auth is not None else self.auth
        if isinstance(auth, tuple):
            auth = BasicAuth(*auth)
        if isinstance(auth, Auth):
            return next(auth.auth_flow(request))
        return auth(request) or request if callable(auth) else request

    def _sent(self, request):
        if urlsplit(request.url).scheme not in ("http", "https"):
            raise UnsupportedProtocol("Request URL is missing an 'http://' or 'https://' protocol.", request=request)
        try:
            made = _common.send(request.method, request.url, request.headers.items(), **request._body)
        except _common.FetchError as error:
            raise ConnectError(str(error), request=request) from error
        return Response(request, made, self.cookies.take(request.url, made))


class Client(_Client):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.is_closed = True

    def send(self, request, *, auth=None, **options):
        request = self._login(request, auth)
        for hook in self.event_hooks["request"]:
            hook(request)
        response = self._sent(request)
        for hook in self.event_hooks["response"]:
            hook(response)
        return response

    def request(self, method, url, *, auth=None, timeout=None, follow_redirects=None, extensions=None, **options):
        return self.send(self.build_request(method, url, **options), auth=auth)

    @contextmanager
    def stream(self, method, url, **options):
        yield self.request(method, url, **options)

    def get(self, url, **options):
        return self.request("GET", url, **options)

    def options(self, url, **options):
        return self.request("OPTIONS", url, **options)

    def head(self, url, **options):
        return self.request("HEAD", url, **options)

    def post(self, url, **options):
        return self.request("POST", url, **options)

    def put(self, url, **options):
        return self.request("PUT", url, **options)

    def patch(self, url, **options):
        return self.request("PATCH", url, **options)

    def delete(self, url, **options):
        return self.request("DELETE", url, **options)


class AsyncClient(_Client):
    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.aclose()

    async def aclose(self):
        self.is_closed = True

    async def send(self, request, *, auth=None, **options):
        request = self._login(request, auth)
        for hook in self.event_hooks["request"]:
            await hook(request)
        response = self._sent(request)
        for hook in self.event_hooks["response"]:
            await hook(response)
        return response

    async def request(self, method, url, *, auth=None, timeout=None, follow_redirects=None, extensions=None, **options):
        return await self.send(self.build_request(method, url, **options), auth=auth)

    @asynccontextmanager
    async def stream(self, method, url, **options):
        yield await self.request(method, url, **options)

    async def get(self, url, **options):
        return await self.request("GET", url, **options)

    async def options(self, url, **options):
        return await self.request("OPTIONS", url, **options)

    async def head(self, url, **options):
        return await self.request("HEAD", url, **options)

    async def post(self, url, **options):
        return await self.request("POST", url, **options)

    async def put(self, url, **options):
        return await self.request("PUT", url, **options)

    async def patch(self, url, **options):
        return await self.request("PATCH", url, **options)

    async def delete(self, url, **options):
        return await self.request("DELETE", url, **options)


_OF_CLIENT = ("verify", "cert", "trust_env", "proxy", "proxies", "mounts", "http2")


def request(method, url, **options):
    return Client().request(method, url, **{name: one for name, one in options.items() if name not in _OF_CLIENT})


@contextmanager
def stream(method, url, **options):
    yield request(method, url, **options)


def get(url, **options):
    return request("GET", url, **options)


def options(url, **options):
    return request("OPTIONS", url, **options)


def head(url, **options):
    return request("HEAD", url, **options)


def post(url, **options):
    return request("POST", url, **options)


def put(url, **options):
    return request("PUT", url, **options)


def patch(url, **options):
    return request("PATCH", url, **options)


def delete(url, **options):
    return request("DELETE", url, **options)
