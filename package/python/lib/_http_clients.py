"""What the HTTP clients here have in common: `requests`, `httpx`, `httpx2` and `http.client` send by the kit's `fetch`."""

from base64 import b64encode
from http import HTTPStatus
from http.cookies import SimpleCookie
from types import SimpleNamespace
from urllib.parse import urlsplit, urlunsplit

from edge_servlets import FetchError
from edge_servlets._fetch import fetch

# The host sets them itself, and refuses them.
_OF_CONNECTION = frozenset(
    "accept-encoding connection content-length host keep-alive proxy-authorization proxy-connection te trailer "
    "transfer-encoding upgrade".split()
)


def reason_of(status):
    return HTTPStatus(status).phrase if status in HTTPStatus else ""


def text_of(value):
    return value.decode("latin-1") if isinstance(value, (bytes, bytearray)) else str(value)


def basic(user, password):
    return "Basic " + b64encode(f"{text_of(user)}:{text_of(password)}".encode()).decode()


def without_login(url):
    """A URL without the name and the password in it, and these as a header; the header is None where there are none."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, None
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=place)), basic(parts.username, parts.password or "")


def send(method, url, headers=(), params=None, data=None, json=None, files=None):
    """Sends a request; headers are pairs. Raises a `FetchError` where there is no response."""
    url, login = without_login(url)
    sent = {"authorization": login} if login else {}
    for name, value in headers:
        name = text_of(name).lower()
        if value is not None and name not in _OF_CONNECTION:
            sent[name] = text_of(value)
    if isinstance(data, str):
        data = data.encode()
    elif hasattr(data, "read"):
        data = data.read()
        data = data.encode() if isinstance(data, str) else data
    if isinstance(params, (str, bytes)):
        url += ("&" if "?" in url else "?") + text_of(params).lstrip("?")
        params = None
    if files:
        pairs = files.items() if hasattr(files, "items") else files
        made = [(name, _file_of(name, one)) for name, one in pairs]
        files = SimpleNamespace(items=lambda: made)
    return fetch(url, method=method, headers=sent, params=params or None, json=json, data=data, files=files or None)


def _file_of(name, given):
    """A file as `fetch` takes it: its name, its content and perhaps its type."""
    if not isinstance(given, (tuple, list)):
        return (text_of(getattr(given, "name", name)).rpartition("/")[2], given)
    name_of_file, content, *more = given
    return (name_of_file or name, content, *more[:1])


class Cookies(dict):
    """Cookies by name. Those that a host has set are sent to it alone."""

    def __init__(self, given=()):
        super().__init__(given or ())
        self._of_hosts = {}

    def set(self, name, value, **more):
        self[name] = value

    def get_dict(self, **more):
        return dict(self)

    def header_for(self, url, more=()):
        of_host = self._of_hosts.get(urlsplit(url).netloc, {})
        own = {name: value for name, value in self.items() if not any(name in one for one in self._of_hosts.values())}
        return "; ".join(f"{name}={value}" for name, value in {**own, **of_host, **dict(more or ())}.items())

    def take(self, url, response):
        """Keeps what a response has set; gives that."""
        taken = {}
        for line in response.headers.get_list("set-cookie"):
            for name, one in SimpleCookie(line).items():
                of_host = self._of_hosts.setdefault(urlsplit(url).netloc, {})
                if one["max-age"] == "0":
                    of_host.pop(name, None)
                    self.pop(name, None)
                else:
                    taken[name] = of_host[name] = self[name] = one.value
        return taken


class Headers(dict):
    """Headers by name, in whichever case; a name keeps the case that it has been given last."""

    def __init__(self, given=(), **more):
        super().__init__()
        self._names = {}
        self.update(given or (), **more)

    def __setitem__(self, name, value):
        name = text_of(name)
        old = self._names.pop(name.lower(), None)
        if old is not None:
            super().__delitem__(old)
        self._names[name.lower()] = name
        super().__setitem__(name, value)

    def __getitem__(self, name):
        return super().__getitem__(self._names[text_of(name).lower()])

    def __delitem__(self, name):
        super().__delitem__(self._names.pop(text_of(name).lower()))

    def __contains__(self, name):
        return text_of(name).lower() in self._names

    def get(self, name, default=None):
        return self[name] if name in self else default

    def pop(self, name, *default):
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, given=(), **more):
        pairs = given.items() if hasattr(given, "items") else given
        for name, value in [*pairs, *more.items()]:
            self[name] = value

    def copy(self):
        return type(self)(self)


class Exchange:
    """A response to a client's request: what both clients call by the same names. `sent` is the request."""

    def __init__(self, sent, made, cookies):
        self.request = sent
        self.status_code = made.status
        self.content = made.content
        self.headers = Headers({name: made.headers[name] for name in made.headers})
        self.cookies = cookies
        self.history = []
        self.encoding = None
        self._made = made

    @property
    def text(self):
        return self.content.decode(self.encoding, "replace") if self.encoding else self._made.text

    def close(self): ...
