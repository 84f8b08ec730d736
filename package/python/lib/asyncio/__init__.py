"""asyncio without sockets, programs and threads, of which a servlet has none: in place of the library's own `__init__`."""

from . import base_events, coroutines, events, exceptions, futures, graph, locks, protocols
from . import queues, runners, taskgroups, tasks, threads, timeouts, transports
from .base_events import *
from .coroutines import *
from .events import *
from .exceptions import *
from .futures import *
from .graph import *
from .locks import *
from .protocols import *
from .queues import *
from .runners import *
from .taskgroups import *
from .tasks import *
from .threads import *
from .timeouts import *
from .transports import *

_MODULES = (
    base_events, coroutines, events, exceptions, futures, graph, locks, protocols,
    queues, runners, taskgroups, tasks, threads, timeouts, transports,
)  # fmt: skip
__all__ = tuple(name for module in _MODULES for name in module.__all__)


def __getattr__(name):
    if name in ("open_connection", "start_server", "StreamReader", "StreamWriter", "open_unix_connection"):
        hint = "a servlet has no sockets: from edge_servlets import fetch"
    elif "subprocess" in name:
        hint = "a servlet starts no programs"
    else:
        raise AttributeError(f"module 'asyncio' has no attribute {name!r}")
    raise AttributeError(f"there is no asyncio.{name}: {hint}")
