"""Bytes to text, in an encoding that has to be detected."""

from __future__ import annotations

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 1 << 16
_ODD = frozenset(["idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"])


def decode(data: bytes, declared: str | None = None) -> tuple[str, str] | None:
    """Text and the encoding it was in; None if no encoding makes text of it.

    In order: a byte order mark, UTF-8, the encoding declared with the data, UTF-16 and UTF-32 by
    their zero bytes, then statistics over the first 64 KiB. UTF-8 comes before the declaration
    because text that is valid UTF-8 and not ASCII is hardly ever anything else.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], name)
    # Zero bytes are legal UTF-8, but text in UTF-16 is full of them.
    has_zeros = b"\0" in data[:_SAMPLE]
    if not has_zeros and (found := _strict(data, "utf-8")):
        return found
    if declared is not None and not _is_odd(declared) and (found := _strict(data, declared)):
        return found
    if has_zeros:
        return _by_zeros(data) or _strict(data, "utf-8")
    return _by_statistics(data)


def _is_odd(declared: str) -> bool:
    """Whether it names a codec that is not of text: Python has some, such as ``rot13``."""
    try:
        return codecs.lookup(declared).name in _ODD
    except (LookupError, ValueError):  # ValueError: a zero byte in the name
        return True


def _strict(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        text = data.decode(encoding)
        text.encode()  # some codecs let unpaired surrogates through
        return text, codecs.lookup(encoding).name
    except (UnicodeError, LookupError, ValueError):
        return None


def _by_zeros(data: bytes) -> tuple[str, str] | None:
    sample = data[: _SAMPLE - _SAMPLE % 4]
    zeros = [sample[k::4].count(0) / max(1, len(sample[k::4])) for k in range(4)]
    high = [share > 0.4 for share in zeros]
    names = {
        (False, True, True, True): "utf-32-le",
        (True, True, True, False): "utf-32-be",
        (False, True, False, True): "utf-16-le",
        (True, False, True, False): "utf-16-be",
    }
    name = names.get((high[0], high[1], high[2], high[3]))
    return _strict(data, name) if name else None


def _by_statistics(data: bytes) -> tuple[str, str] | None:
    import cchardet  # Mozilla's detector: of four tested, the one with the fewest errors

    name = cchardet.detect(data[:_SAMPLE])["encoding"]
    if name is not None and (found := _strict(data, name)):
        return found
    # The sample may have been cut inside a character, or be too small to tell.
    return _strict(data, "cp1252")


_ASCII = bytes(range(128))
_FEW = 30


def decode_short(data: bytes, declared: str | None = None) -> tuple[str, str] | None:
    """As `decode`, but text with few bytes beyond ASCII, absolutely and by share, is Windows-1252.

    A detector that sees three accents in a sentence guesses: "naïve café à la carte" becomes
    "na´ve cafÚ Ó la carte". In other alphabets most bytes are beyond ASCII.
    """
    num = len(data.translate(None, _ASCII))
    if num and num < _FEW and num * 6 < len(data) and not _fits(data, declared):
        declared = "cp1252"
    return decode(data, declared)


def _fits(data: bytes, declared: str | None) -> bool:
    try:
        return declared is not None and data.decode(declared) is not None
    except (UnicodeError, LookupError, ValueError):
        return False
