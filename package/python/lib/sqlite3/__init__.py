"""`sqlite3` whose `random()` and `randomblob()` draw from the chance of the call: those of SQLite go on from the build's."""

from os import urandom

from . import dbapi2
from .dbapi2 import *


def _random():
    return int.from_bytes(urandom(8), signed=True)


def _random_blob(size):
    return urandom(max(1, size or 1))


class Connection(dbapi2.Connection):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.create_function("random", 0, _random)
        self.create_function("randomblob", 1, _random_blob)


def connect(database, *args, **options):
    # The sixth one, or `factory`, is the class.
    if len(args) < 5:
        options.setdefault("factory", Connection)
    return _connect(database, *args, **options)


_connect = dbapi2.connect
connect.__doc__ = _connect.__doc__
dbapi2.Connection, dbapi2.connect = Connection, connect
