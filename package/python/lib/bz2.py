"""Names of `bz2` that other modules look up when they are loaded. Of compressions a servlet has zlib and gzip."""

__all__ = ["BZ2Compressor", "BZ2Decompressor", "BZ2File", "compress", "decompress", "open"]


class BZ2File:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("there is no bz2 in a servlet: use gzip or zlib")


BZ2Compressor = BZ2Decompressor = BZ2File


def open(*args, **kwargs):
    return BZ2File()


compress = decompress = open
