"""Encodings that the library of a servlet lacks, such as those of Chinese and Japanese: the host decodes them."""

import codecs

import _edge

from ._host import running
from ._json import encode


def _answer(label: str, data: bytes, errors: str) -> bytes | None:
    asked = {"label": label, "fatal": errors == "strict"}
    answer = _edge.call("decode_text", encode(asked).encode(), data)
    return answer[1:] if answer and answer[0] == 0 else None


def _find(name: str) -> codecs.CodecInfo | None:
    if not running.call:
        return None
    labels = (name, name.replace("_", "-"), name.replace("cp", "windows-"))
    label = next((one for one in labels if _answer(one, b"", "strict") is not None), None)
    if label is None:
        return None

    def decode(data: bytes, errors: str = "strict") -> tuple[str, int]:
        text = _answer(label, bytes(data), errors)
        if text is None:
            raise UnicodeDecodeError(name, bytes(data), 0, len(data), "it is not in this encoding")
        return text.decode(), len(data)

    def refuse(text: str, errors: str = "strict") -> tuple[bytes, int]:
        raise LookupError(f"{name} can be read in a servlet, and not written: write utf-8")

    return codecs.CodecInfo(refuse, decode, name=name)


codecs.register(_find)
