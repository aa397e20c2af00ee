"""Bytes to text, in an encoding that has to be detected."""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases
from functools import cache, lru_cache

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 1 << 16
_ASCII = bytes(range(128))
_ODD = frozenset(["idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"])
_NOT_IN_NAMES = re.compile(r"[^a-z0-9(]++|\([^)]*+\)?+")
_PAGE = re.compile(r"x?(?:windows|win|cp|codepage|ansi|dos|ibm|ms)++([0-9]{3,5})")
_LATIN = re.compile(r"(?:iso)?latin([0-9]{1,2})")
# Labels of the WHATWG's Encoding Standard and of old headers that Python does not have.
_LABELS = {
    "ansi": "cp1252", "unicode": "utf-8", "iso646us": "ascii", "windows31j": "cp932",
    "cnbig5": "big5", "xxbig5": "big5", "csgb2312": "gb2312", "gb2312": "gb2312",
    "cseuckr": "euc-kr", "csksc56011987": "euc-kr", "isoir149": "euc-kr", "ksc56011989": "euc-kr",
    "cseucpkdfmtjapanese": "euc-jp", "csisolatin9": "iso8859-15", "suneugreek": "iso8859-7",
    "csiso88596e": "iso8859-6", "csiso88596i": "iso8859-6", "iso88596e": "iso8859-6",
    "iso88596i": "iso8859-6", "csiso88598e": "iso8859-8", "csiso88598i": "iso8859-8",
    "iso88598e": "iso8859-8", "iso88598i": "iso8859-8", "logical": "iso8859-8",
    "visual": "iso8859-8", "mac": "mac-roman", "csmacintosh": "mac-roman",
    "macukrainian": "mac-cyrillic", "koi": "koi8-r", "koi8": "koi8-r", "unicode11utf8": "utf-8",
}  # fmt: skip


def decode(data: bytes, declared: str | None = None) -> tuple[str, str] | None:
    """Text and the encoding it was in; None if no encoding makes text of it.

    In order: a byte order mark, UTF-8, the encoding declared with the data, UTF-16 and UTF-32 by
    their zero bytes, then statistics over the first 64 KiB. UTF-8 comes before the declaration
    because text that is valid UTF-8 and not ASCII is hardly ever anything else.
    That holds with a few wrong bytes too: up to one in a thousand, and a character cut at the end,
    become U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], name) or _damaged(data[len(mark) :], name)
    # Zero bytes are legal UTF-8, but text in UTF-16 is full of them.
    has_zeros = b"\0" in data[:_SAMPLE]
    if not has_zeros and (found := _utf8(data)):
        return found
    if declared is not None and (codec := codec_of(declared)) and (found := _strict(data, codec)):
        return found
    if has_zeros:
        return _by_zeros(data) or _utf8(data)
    return _by_statistics(data) or _damaged(data, "utf-8")


@lru_cache(1000)
def codec_of(label: str) -> str | None:
    """The name of Python's codec for an encoding in any spelling: ``ISO 8859-1``, ``win-1252``.

    None for what is not known, and for codecs that no text is in.
    """
    name = _NOT_IN_NAMES.sub("", label.lower())
    for spelling in (name, name.removeprefix("x"), name.removeprefix("unicode"), label):
        if page := _PAGE.fullmatch(spelling):
            spelling = f"cp{page[1]}"
        elif latin := _LATIN.fullmatch(spelling):
            spelling = f"latin{latin[1]}"
        try:
            found = codecs.lookup(_LABELS.get(spelling) or _spellings().get(spelling) or spelling)
            bytes(4).decode(found.name)  # not every codec decodes bytes to text
        except (LookupError, ValueError):
            continue
        return None if found.name in _ODD else found.name
    return None


@cache
def _spellings() -> dict[str, str]:
    """Codecs by their names without punctuation."""
    names = {name: name for name in aliases.values()} | aliases
    return {_NOT_IN_NAMES.sub("", name): codec for name, codec in names.items()}


def _damaged(data: bytes, encoding: str, *, is_proven: bool = True) -> tuple[str, str] | None:
    """Text with U+FFFD for what is wrong in its encoding, if that is few; a cut end does not count.

    Unless the encoding is proven, three of four bytes beyond ASCII must be valid: a rare wrong
    byte in ASCII is a letter of another encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(data)
    num_wrong = text.count("\ufffd") - data.count("\ufffd".encode(encoding))
    if not text or num_wrong * 1000 > len(data):
        return None
    if not is_proven:
        num_cut = len(decoder.getstate()[0])
        num_valid = len(data.translate(None, _ASCII)) - num_wrong - num_cut
        if num_valid < 3 * max(num_wrong, 1 if num_cut else 0):
            return None
    return text + decoder.decode(b"", final=True), encoding


def _strict(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        text = data.decode(encoding)
        text.encode()  # some codecs let unpaired surrogates through
        return text, codecs.lookup(encoding).name
    except (UnicodeError, LookupError, ValueError):
        return None


def _utf8(data: bytes) -> tuple[str, str] | None:
    return _strict(data, "utf-8") or _damaged(data, "utf-8", is_proven=False)


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


_FEW = 30


def decode_short(data: bytes, declared: str | None = None) -> tuple[str, str] | None:
    """As `decode`, but text with few bytes beyond ASCII, absolutely and by share, is Windows-1252.

    A detector that sees three accents in a sentence guesses: "naïve café à la carte" becomes
    "na´ve cafÚ Ó la carte". In other alphabets most bytes are beyond ASCII.
    """
    num = len(data.translate(None, _ASCII))
    if num and num < _FEW and num * 6 < len(data):
        codec = codec_of(declared or "")
        declared = codec if codec and _strict(data, codec) else "cp1252"
    return decode(data, declared)
