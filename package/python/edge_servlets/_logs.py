"""`logging` writes to the server's log, at the levels that both have. Used where the servlet loads `logging`."""

import logging
import sys

from ._host import DEBUG, ERROR, INFO, WARN, log

_LEVELS = ((logging.ERROR, ERROR), (logging.WARNING, WARN), (logging.INFO, INFO))


class HostHandler(logging.StreamHandler):
    """Writes records to the host."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = next((ours for theirs, ours in _LEVELS if record.levelno >= theirs), DEBUG)
            log(level, self.format(record).encode(errors="replace"))
        except Exception:
            self.handleError(record)


class LastResort(HostHandler):
    """Writes the records of loggers for which the servlet has no handler."""

    def emit(self, record: logging.LogRecord) -> None:
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if any(type(one) not in (LastResort, logging.NullHandler) for one in logger.handlers):
                return
            logger = logger.parent if logger.propagate else None
        super().emit(record)


def log_to_host() -> None:
    """Takes the place of handlers that write to standard output and error, such as that of `logging.basicConfig`."""
    for reference in logging._handlerList:  # type: ignore[attr-defined]
        handler = reference()
        if type(handler) is logging.StreamHandler and handler.stream in (sys.stdout, sys.stderr):
            handler.__class__ = HostHandler
    if logging.root.handlers == []:
        logging.root.addHandler(LastResort())
