"""
`sqlite3` whose `random()` and `randomblob()` draw from the chance of the call: those of SQLite go on from the build's. Its
cursors refuse a negative number of rows, as those of newer releases do.
"""

from os import urandom

from . import dbapi2
from .dbapi2 import *


def _random():
    return int.from_bytes(urandom(8), signed=True)


def _random_blob(size):
    return urandom(max(1, size or 1))


def _at_least_0(count):
    if count < 0:
        raise ValueError(f"a number of rows is at least 0, and this is {count}")
    return count


class Cursor(dbapi2.Cursor):
    @property
    def arraysize(self):
        return _rows.__get__(self)

    @arraysize.setter
    def arraysize(self, count):
        _rows.__set__(self, _at_least_0(count))

    def fetchmany(self, size=None):
        return super().fetchmany(self.arraysize if size is None else _at_least_0(size))


class Connection(dbapi2.Connection):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.create_function("random", 0, _random)
        self.create_function("randomblob", 1, _random_blob)

    def cursor(self, factory=None):
        return super().cursor(factory or Cursor)

    # The original methods make cursors in C, without a call of `cursor`.
    def execute(self, *args):
        return self.cursor().execute(*args)

    def executemany(self, *args):
        return self.cursor().executemany(*args)

    def executescript(self, *args):
        return self.cursor().executescript(*args)


def connect(database, *args, **options):
    # The sixth one, or `factory`, is the class.
    if len(args) < 5:
        options.setdefault("factory", Connection)
    return _connect(database, *args, **options)


_rows, _connect = dbapi2.Cursor.arraysize, dbapi2.connect
connect.__doc__ = _connect.__doc__
dbapi2.Connection, dbapi2.Cursor, dbapi2.connect = Connection, Cursor, connect
