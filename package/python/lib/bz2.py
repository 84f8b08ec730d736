"""
Names of `bz2` that other modules look up when they are loaded. Of compressions a servlet has zlib and gzip. A file fails when
it is used, not when it is made: `tarfile` tries it for each archive.
"""

from io import UnsupportedOperation

__all__ = ["BZ2Compressor", "BZ2Decompressor", "BZ2File", "compress", "decompress", "open"]


def compress(*args, **kwargs):
    raise UnsupportedOperation("there is no bz2 in a servlet: use gzip or zlib")


class BZ2File:
    def __init__(self, *args, **kwargs): ...

    def close(self): ...

    def __getattr__(self, name):
        compress()

    __enter__ = __iter__ = compress


BZ2Compressor = BZ2Decompressor = open = BZ2File
decompress = compress
