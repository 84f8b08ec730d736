import logging

from .._lacks import finder_of


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger, of which the server's log has what is INFO or worse, unless the level of the root is set later."""
    if logging.root.level == logging.WARNING:
        logging.root.setLevel(logging.INFO)
    return logging.getLogger(name)


__getattr__ = finder_of(__name__)
