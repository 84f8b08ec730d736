"""Names of `socket` that other modules look up when they are loaded. A servlet has no sockets."""

from _socket import *
from _socket import AF_INET, AF_INET6, SOCK_DGRAM, SOCK_STREAM
from enum import IntEnum

__all__ = ["AF_INET", "AF_INET6", "SOCK_DGRAM", "SOCK_STREAM", "error", "gaierror", "has_ipv6", "herror", "socket", "timeout"]

error = OSError
timeout = TimeoutError
has_ipv6 = False
SocketKind = IntEnum("SocketKind", {"SOCK_DGRAM": SOCK_DGRAM, "SOCK_STREAM": SOCK_STREAM})
AddressFamily = IntEnum("AddressFamily", {"AF_INET": AF_INET, "AF_INET6": AF_INET6})


class gaierror(OSError): ...


class herror(OSError): ...


class socket:
    def __init__(self, *args, **kwargs):
        raise OSError("a servlet has no sockets: from edge_servlets import fetch")


def _refused(*args, **kwargs):
    raise OSError("a servlet has no sockets: from edge_servlets import fetch")


create_connection = create_server = getaddrinfo = gethostbyname = gethostname = getfqdn = socketpair = _refused
getdefaulttimeout = setdefaulttimeout = lambda *args: None
_GLOBAL_DEFAULT_TIMEOUT = object()
IPPROTO_TCP, TCP_NODELAY, SOL_SOCKET, SO_KEEPALIVE, SO_REUSEADDR = 6, 1, 1, 9, 2
AI_PASSIVE, SHUT_RD, SHUT_WR, SHUT_RDWR = 1, 0, 1, 2
inet_aton = inet_ntoa = inet_pton = inet_ntop = getnameinfo = gethostbyaddr = _refused
