"""`http.client` over the kit's `fetch`: a request is sent as a whole, and its response is whole. `urllib.request` is built on it."""

import email.message
import email.parser
import io
from http import HTTPStatus

from _http_clients import reason_of, send

__all__ = [
    "HTTPResponse", "HTTPConnection", "HTTPSConnection", "HTTPException", "NotConnected", "UnknownProtocol",
    "UnknownTransferEncoding", "UnimplementedFileMode", "IncompleteRead", "InvalidURL", "ImproperConnectionState",
    "CannotSendRequest", "CannotSendHeader", "ResponseNotReady", "BadStatusLine", "LineTooLong", "RemoteDisconnected",
    "error", "responses",
]  # fmt: skip
HTTP_PORT, HTTPS_PORT = 80, 443
responses = {one: one.phrase for one in HTTPStatus}
globals().update({name: one for name, one in HTTPStatus.__members__.items()})


class HTTPException(Exception): ...


class NotConnected(HTTPException): ...


class InvalidURL(HTTPException): ...


class UnknownProtocol(HTTPException): ...


class UnknownTransferEncoding(HTTPException): ...


class UnimplementedFileMode(HTTPException): ...


class IncompleteRead(HTTPException): ...


class ImproperConnectionState(HTTPException): ...


class CannotSendRequest(ImproperConnectionState): ...


class CannotSendHeader(ImproperConnectionState): ...


class ResponseNotReady(ImproperConnectionState): ...


class BadStatusLine(HTTPException): ...


class LineTooLong(HTTPException): ...


class RemoteDisconnected(ConnectionResetError, BadStatusLine): ...


error = HTTPException


class HTTPMessage(email.message.Message): ...


def parse_headers(fp, _class=HTTPMessage):
    lines = iter(fp.readline, b"")
    head = b"".join(iter(lambda: next(lines, b"\r\n"), b"\r\n"))
    return email.parser.Parser(_class=_class).parsestr(head.decode("iso-8859-1"))


class HTTPResponse(io.BytesIO):
    version = 11
    debuglevel = 0

    def __init__(self, made):
        super().__init__(made.content)
        self.status = self.code = made.status
        self.reason = reason_of(made.status)
        self.headers = self.msg = HTTPMessage()
        self.url = made.url
        for name in made.headers:
            for value in made.headers.get_list(name):
                self.headers[name] = value
        self.length = len(made.content)
        self.chunked = False
        self.will_close = True

    def getheader(self, name, default=None):
        found = self.headers.get_all(name)
        return default if found is None else ", ".join(found)

    def getheaders(self):
        return list(self.headers.items())

    def info(self):
        return self.headers

    def geturl(self):
        return self.url

    def getcode(self):
        return self.status

    def isclosed(self):
        return self.closed


class HTTPConnection:
    _http_vsn = 11
    _scheme = "http"
    default_port = HTTP_PORT
    debuglevel = 0
    sock = None

    def __init__(self, host, port=None, timeout=None, source_address=None, blocksize=8192, **options):
        name, _, own_port = host.partition(":") if host.count(":") == 1 else (host, "", "")
        if own_port and not own_port.isdigit():
            raise InvalidURL(f"nonnumeric port: '{own_port}'")
        self.host = name
        self.port = int(port or own_port or self.default_port)
        self.timeout = timeout
        self._request, self._made = None, None

    @staticmethod
    def _get_content_length(body, method):
        return len(body) if isinstance(body, (bytes, bytearray, memoryview, str)) else None

    def set_debuglevel(self, level): ...
    def connect(self): ...

    def set_tunnel(self, host, port=None, headers=None):
        raise OSError("a servlet has no proxies: the host sends its requests")

    def close(self):
        self._request, self._made = None, None

    def putrequest(self, method, url, skip_host=False, skip_accept_encoding=False):
        self._request = (method, url, [], [])

    def putheader(self, header, *values):
        if self._request is None:
            raise CannotSendHeader()
        texts = [one.decode("latin-1") if isinstance(one, bytes) else str(one) for one in values]
        self._request[2].append((header, "\r\n\t".join(texts)))

    def endheaders(self, message_body=None, *, encode_chunked=False):
        if message_body is not None:
            self.send(message_body)

    def send(self, data):
        if hasattr(data, "read"):
            data = data.read()
        parts = [data] if isinstance(data, (str, bytes, bytearray, memoryview)) else data
        self._request[3].extend(one.encode("latin-1") if isinstance(one, str) else bytes(one) for one in parts)

    def request(self, method, url, body=None, headers={}, *, encode_chunked=False):
        self.putrequest(method, url)
        for name, value in headers.items():
            self.putheader(name, value)
        self.endheaders(body)

    def getresponse(self):
        if self._request is None:
            raise ResponseNotReady("Idle")
        (method, url, headers, parts), self._request = self._request, None
        port = "" if self.port == self.default_port else f":{self.port}"
        whole = url if "://" in url else f"{self._scheme}://{self.host}{port}{url}"
        return HTTPResponse(send(method, whole, headers, data=b"".join(parts) if parts else None))


class HTTPSConnection(HTTPConnection):
    _scheme = "https"
    default_port = HTTPS_PORT


def _create_https_context(http_version):
    """The host makes connections, and checks certificates."""
    return None
