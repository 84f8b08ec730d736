import logging


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger, of which the server's log has what is INFO or worse, unless its level is set."""
    logger = logging.getLogger(name)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    return logger
