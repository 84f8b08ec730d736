"""`hashlib` without OpenSSL. An iteration of PBKDF2 takes some 7,000 units of fuel; there is no scrypt."""

from _blake2 import blake2b, blake2s
from _md5 import md5
from _sha1 import sha1
from _sha2 import sha224, sha256, sha384, sha512
from _sha3 import sha3_224, sha3_256, sha3_384, sha3_512, shake_128, shake_256

_CONSTRUCTORS = {
    "blake2b": blake2b, "blake2s": blake2s, "md5": md5, "sha1": sha1,
    "sha224": sha224, "sha256": sha256, "sha384": sha384, "sha512": sha512,
    "sha3_224": sha3_224, "sha3_256": sha3_256, "sha3_384": sha3_384, "sha3_512": sha3_512,
    "shake_128": shake_128, "shake_256": shake_256,
}  # fmt: skip
algorithms_guaranteed = set(_CONSTRUCTORS)
algorithms_available = set(_CONSTRUCTORS)
__all__ = (
    *_CONSTRUCTORS, "new", "algorithms_guaranteed", "algorithms_available", "file_digest", "pbkdf2_hmac",
)  # fmt: skip


def new(name, *args, **options):
    constructor = _CONSTRUCTORS.get(name.lower())
    if constructor is None:
        raise ValueError(f"unsupported hash type {name}")
    return constructor(*args, **options)


def file_digest(fileobj, digest, /, *, _bufsize=2**18):
    made = new(digest) if isinstance(digest, str) else digest()
    if not (hasattr(fileobj, "readinto") and fileobj.readable()):
        raise ValueError(f"{fileobj!r} is not a file-like object in binary reading mode.")
    while part := fileobj.read(_bufsize):
        made.update(part)
    return made


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    from _hmac import compute_digest

    size = new(hash_name).digest_size
    dklen = size if dklen is None else dklen
    if iterations < 1 or dklen < 1:
        raise ValueError("iterations and dklen must be greater than 0.")
    name, password, of_bytes = hash_name.lower(), bytes(password), int.from_bytes
    made = b""
    for nth in range(1, -(-dklen // size) + 1):
        one = compute_digest(password, bytes(salt) + nth.to_bytes(4), name)
        total = of_bytes(one)
        for _ in range(iterations - 1):
            one = compute_digest(password, one, name)
            total ^= of_bytes(one)
        made += total.to_bytes(size)
    return made[:dklen]


def __getattr__(name):
    if name == "scrypt":
        raise AttributeError("there is no hashlib.scrypt: use hashlib.pbkdf2_hmac")
    raise AttributeError(f"module 'hashlib' has no attribute {name!r}")
