"""Bytes to text where there are too few of them for statistics: header fields, lines, notes."""

from __future__ import annotations

from barrow.corpus.text_encoding import decode

_ASCII = bytes(range(128))
_FEW = 30


def decode_short(data: bytes, declared: str | None = None) -> tuple[str, str] | None:
    """As `decode`, but what has few bytes beyond ASCII, and few for its length, is Windows-1252.

    A detector that sees three accents in a sentence guesses: of "naïve café à la carte" it makes
    "na´ve cafÚ Ó la carte". In text of other alphabets most bytes are beyond ASCII.
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
