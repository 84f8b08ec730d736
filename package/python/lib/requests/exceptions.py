from json import JSONDecodeError as _JSONDecodeError

__all__ = [
    "RequestException", "HTTPError", "ConnectionError", "ProxyError", "SSLError", "Timeout", "ConnectTimeout", "ReadTimeout",
    "URLRequired", "TooManyRedirects", "MissingSchema", "InvalidSchema", "InvalidURL", "InvalidHeader", "InvalidJSONError",
    "JSONDecodeError", "ChunkedEncodingError", "ContentDecodingError", "RetryError",
]  # fmt: skip


class RequestException(OSError):
    def __init__(self, *args, **options):
        self.response = options.pop("response", None)
        self.request = options.pop("request", getattr(self.response, "request", None))
        super().__init__(*args, **options)


class InvalidJSONError(RequestException): ...


class JSONDecodeError(InvalidJSONError, _JSONDecodeError):
    def __init__(self, *args, **options):
        _JSONDecodeError.__init__(self, *args)
        InvalidJSONError.__init__(self, *self.args, **options)


class HTTPError(RequestException): ...


class ConnectionError(RequestException): ...


class ProxyError(ConnectionError): ...


class SSLError(ConnectionError): ...


class Timeout(RequestException): ...


class ConnectTimeout(ConnectionError, Timeout): ...


class ReadTimeout(Timeout): ...


class URLRequired(RequestException): ...


class TooManyRedirects(RequestException): ...


class MissingSchema(RequestException, ValueError): ...


class InvalidSchema(RequestException, ValueError): ...


class InvalidURL(RequestException, ValueError): ...


class InvalidHeader(RequestException, ValueError): ...


class ChunkedEncodingError(RequestException): ...


class ContentDecodingError(RequestException): ...


class RetryError(RequestException): ...
