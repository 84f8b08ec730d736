"""`requests` over the kit's `fetch`, which follows redirects and limits time itself. A response is whole."""

import datetime
import io
import json as _json
from http import HTTPStatus

import _http_clients as _common

from . import adapters as adapters, auth as auth, cookies as cookies, exceptions as exceptions, structures as structures
from .exceptions import *

__version__ = "2.32.5"


class _Codes:
    def __getattr__(self, name):
        try:
            return HTTPStatus[name.upper()].value
        except KeyError:
            raise AttributeError(name) from None

    __getitem__ = __getattr__


codes = _Codes()


class Request:
    """A request before it is sent."""

    def __init__(self, method=None, url=None, headers=None, files=None, data=None, params=None, auth=None, cookies=None, hooks=None, json=None):
        self.method, self.url, self.params = (method or "GET").upper(), url, params
        self.headers = structures.CaseInsensitiveDict(headers)
        self.files, self.data, self.json, self.body = files, data, json, data
        self.auth, self.cookies = auth, cookies

    def prepare(self):
        return self


PreparedRequest = Request


class Response(_common.Exchange):
    elapsed = datetime.timedelta(0)
    is_redirect = is_permanent_redirect = False

    def __init__(self, sent, made, cookies):
        super().__init__(sent, made, cookies)
        self.url = made.url
        self.reason = _common.reason_of(made.status)
        self.raw = io.BytesIO(made.content)

    @property
    def ok(self):
        return self.status_code < 400

    __bool__ = lambda self: self.ok

    @property
    def apparent_encoding(self):
        return self.encoding or "utf-8"

    @property
    def links(self):
        from .utils import parse_header_links

        return {one.get("rel") or one["url"]: one for one in parse_header_links(self.headers.get("link", ""))}

    def json(self, **options):
        try:
            return _json.loads(self.content, **options)
        except ValueError as error:
            raise JSONDecodeError(str(error), self.text, 0) from None

    def iter_content(self, chunk_size=1, decode_unicode=False):
        whole = self.text if decode_unicode else self.content
        size = chunk_size or len(whole) or 1
        for at in range(0, len(whole), size):
            yield whole[at : at + size]

    def iter_lines(self, chunk_size=512, decode_unicode=False, delimiter=None):
        whole = self.text if decode_unicode else self.content
        yield from whole.split(delimiter) if delimiter else whole.splitlines()

    def __iter__(self):
        return self.iter_content(128)

    def raise_for_status(self):
        if self.status_code >= 400:
            kind = "Client" if self.status_code < 500 else "Server"
            raise HTTPError(f"{self.status_code} {kind} Error: {self.reason} for url: {self.url}", response=self)

    def __enter__(self):
        return self

    def __exit__(self, *error): ...

    def __repr__(self):
        return f"<Response [{self.status_code}]>"


class Session:
    def __init__(self):
        self.headers = structures.CaseInsensitiveDict()
        self.auth, self.params, self.verify, self.cert, self.proxies = None, {}, True, None, {}
        self.cookies = cookies.RequestsCookieJar()
        self.hooks, self.trust_env, self.stream, self.max_redirects = {"response": []}, False, False, 30

    def __enter__(self):
        return self

    def __exit__(self, *error): ...
    def close(self): ...
    def mount(self, prefix, adapter): ...

    def prepare_request(self, request):
        return request

    def request(
        self, method, url, params=None, data=None, headers=None, cookies=None, files=None, auth=None, timeout=None,
        allow_redirects=True, proxies=None, hooks=None, stream=None, verify=None, cert=None, json=None,
    ):  # fmt: skip
        sent = Request(method, url, headers, files, data, params, auth, cookies, hooks, json)
        return self.send(sent, hooks=hooks)

    def send(self, request, *, hooks=None, **options):
        url = _common.text_of(request.url)
        if "://" not in url:
            raise MissingSchema(f"Invalid URL {url!r}: No scheme supplied. Perhaps you meant https://{url}?", request=request)
        request.headers = structures.CaseInsensitiveDict({**self.headers, **request.headers})
        login = request.auth or self.auth
        if isinstance(login, tuple):
            login = auth.HTTPBasicAuth(*login)
        if self.params and not isinstance(request.params, (str, bytes)):
            request.params = [*_pairs(self.params), *_pairs(request.params)]
        if login is not None:
            request = login(request) or request
        cookie = self.cookies.header_for(url, request.cookies)
        if cookie:
            request.headers.setdefault("cookie", cookie)
        # A false value is no body, as `requests` has it.
        data = request.data or None
        json = request.json if data is None and not request.files else None
        try:
            made = _common.send(request.method, url, request.headers.items(), request.params, data, json, request.files)
        except _common.FetchError as error:
            raise ConnectionError(str(error), request=request) from error
        response = Response(request, made, self.cookies.take(url, made))
        for hook in _listed((hooks or {}).get("response")) + _listed(self.hooks.get("response")):
            response = hook(response) or response
        return response

    def get(self, url, **options):
        return self.request("GET", url, **options)

    def options(self, url, **options):
        return self.request("OPTIONS", url, **options)

    def head(self, url, **options):
        return self.request("HEAD", url, **options)

    def post(self, url, data=None, json=None, **options):
        return self.request("POST", url, data=data, json=json, **options)

    def put(self, url, data=None, **options):
        return self.request("PUT", url, data=data, **options)

    def patch(self, url, data=None, **options):
        return self.request("PATCH", url, data=data, **options)

    def delete(self, url, **options):
        return self.request("DELETE", url, **options)


def _pairs(given):
    return [*given.items()] if hasattr(given, "items") else [*(given or ())]


def _listed(given):
    return [] if given is None else [given] if callable(given) else [*given]


def session():
    return Session()


def request(method, url, **options):
    return Session().request(method, url, **options)


def get(url, params=None, **options):
    return request("GET", url, params=params, **options)


def options(url, **options):
    return request("OPTIONS", url, **options)


def head(url, **options):
    return request("HEAD", url, **options)


def post(url, data=None, json=None, **options):
    return request("POST", url, data=data, json=json, **options)


def put(url, data=None, **options):
    return request("PUT", url, data=data, **options)


def patch(url, data=None, **options):
    return request("PATCH", url, data=data, **options)


def delete(url, **options):
    return request("DELETE", url, **options)
