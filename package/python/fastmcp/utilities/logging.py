from logging import getLogger as get_logger
