"""Encodings that a servlet lacks: the host decodes those of the web, such as those of Chinese and Japanese."""

import codecs
from encodings import normalize_encoding
from encodings.aliases import aliases

import _edge

from ._host import running
from ._json import encode


def _answer(label: str, data: bytes, errors: str) -> bytes | None:
    asked = {"label": label, "fatal": errors == "strict"}
    answer = _edge.call("decode_text", encode(asked).encode(), data)
    return answer[1:] if answer and answer[0] == 0 else None


_NAMELESS = (
    "charmap cp1006 cp720 cp737 cp856 cp875 idna koi8_t koi8_u mac_arabic mac_croatian mac_farsi mac_romanian palmos punycode "
    "raw_unicode_escape undefined unicode_escape utf_8_sig"
)
"""Modules of encodings that have no other names."""
_MODULES = {*aliases.values(), *_NAMELESS.split()} - {"bz2_codec", "mbcs", "oem"}
_OF_HOST = ("big5", "cp932", "cp949", "cp950", "euc_", "gb", "hz", "iso2022", "johab", "shift_")
"""How the names of those begin that the library lacks."""


def module_of(name: str) -> str | None:
    """The module in the package `encodings` for a name of an encoding, or None for any other text."""
    plain = normalize_encoding(name).lower()
    found = aliases.get(plain) or aliases.get(plain.replace(".", "_")) or plain
    return found if found in _MODULES else None


def _advise(name: str) -> None:
    """Raises an error that says what to do about an encoding that exists and is not there."""
    module = module_of(name)
    if module is None:
        return
    advice = f"the encodings that its code names are there: import encodings.{module} in servlet.py"
    if module.startswith(_OF_HOST):
        advice = "use UTF-8" if running.call else "the host knows it in a handler, and not at module scope"
    raise LookupError(f"unknown encoding: {name}. In a servlet, {advice}")


def _find(name: str) -> codecs.CodecInfo | None:
    labels = (name, name.replace("_", "-"), name.replace("cp", "windows-")) if running.call else ()
    label = next((one for one in labels if _answer(one, b"", "strict") is not None), None)
    if label is None:
        return _advise(name)

    def decode(data: bytes, errors: str = "strict") -> tuple[str, int]:
        text = _answer(label, bytes(data), errors)
        if text is None:
            raise UnicodeDecodeError(name, bytes(data), 0, len(data), "it is not in this encoding")
        return text.decode(), len(data)

    def refuse(text: str, errors: str = "strict") -> tuple[bytes, int]:
        raise LookupError(f"{name} can be read in a servlet, and not written: write utf-8")

    return codecs.CodecInfo(refuse, decode, name=name)


codecs.register(_find)
