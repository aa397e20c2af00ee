"""Normalisation of characters for comparing texts: the table used for words and their hashes.

Two texts of the same wording should have the same words, whatever their case, punctuation, white
space, encoding of accents (composed or not), ligatures or widths. So every code point is mapped to
the base characters of its compatibility decomposition, case folded. Accents, soft hyphens and
zero-width marks are ignored. In scripts written without spaces every character is a word.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NUM_CODES = 0x110000

# Kinds of characters, in the two highest bits of an entry.
SEPARATOR, LETTER, ALONE, NOTHING = 0, 1, 2, 3
KIND_SHIFT = 30
# The rest is a code point, or with this bit a place in the sequences.
SEQUENCE = 1 << 29
VALUE_MASK = SEQUENCE - 1

# Scripts without spaces between words: ideographs, kana, Thai, Lao, Tibetan, Burmese, Khmer.
_IDEOGRAPHS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x323B0))
_ALONE = ((0x0E00, 0x1100), (0x1780, 0x1800), (0x3040, 0x3100), (0x31F0, 0x3200), *_IDEOGRAPHS)
_GEORGIAN = range(0x10A0, 0x1100)

# Letters that look like Latin ones, or whose capitals do: Cyrillic, Greek, and a dotless i.
_LOOK_ALIKES = dict(
    zip(
        "авекмнорстухіјѕһԁԛԝαβεζηικμνορτυχıɑɡ",
        "abekmhopctyxijshdqwabezhikmnoptuxiag",
        strict=True,
    )
)


class Characters(NamedTuple):
    """`entries` has kind and value of every code point.

    Those that map to several characters have the place in `sequences` where these begin; they end
    at a zero.
    """

    entries: npt.NDArray[np.uint32]
    sequences: npt.NDArray[np.uint32]


@cache
def characters() -> Characters:
    """The table; made once per process, from the interpreter's Unicode data."""
    entries = np.zeros(NUM_CODES, np.uint32)
    for first, last in _IDEOGRAPHS:
        entries[first:last] = np.arange(first, last, dtype=np.uint32) | (ALONE << KIND_SHIFT)
    ideographs = frozenset(code for first, last in _IDEOGRAPHS for code in range(first, last))
    sequences: list[int] = [0]
    for code in range(0x20000):
        if code in ideographs or unicodedata.category(chr(code)) in ("Cn", "Co", "Cs"):
            continue
        kind, folded = _kind_and_base(chr(code))
        value = folded[0] if folded else 0
        if len(folded) > 1:
            value = SEQUENCE | len(sequences)
            sequences += [*folded, 0]
        entries[code] = kind << KIND_SHIFT | value
    return Characters(entries, np.array(sequences, np.uint32))


@cache
def letters() -> Characters:
    """The table for disguised texts: look-alikes count as Latin letters.

    Decimal digits of any script are the ASCII ones; a dotless i is an i, the Arabic tatweel is
    ignored, and a zero-width space is white space (the value of that separator is not 0).
    """
    table = characters()
    fold = np.arange(NUM_CODES, dtype=np.uint32)
    for code in range(128, 0x20000):
        if unicodedata.category(chr(code)) == "Nd":
            fold[code] = ord("0") + unicodedata.digit(chr(code))
    fold[[ord(c) for c in _LOOK_ALIKES]] = [ord(c) for c in _LOOK_ALIKES.values()]
    entries, sequences = table.entries.copy(), fold[table.sequences]
    single = (entries & SEQUENCE == 0) & (entries >> KIND_SHIFT != NOTHING)
    entries[single] = entries[single] & ~np.uint32(VALUE_MASK) | fold[entries[single] & VALUE_MASK]
    entries[ord("\u0640")] = NOTHING << KIND_SHIFT
    white = [code for code in range(0x3001) if chr(code).isspace()]
    entries[[*white, 0x200B, 0x2060, 0xFEFF]] = SEPARATOR << KIND_SHIFT | 1
    return Characters(entries, sequences)


def _kind_and_base(character: str) -> tuple[int, list[int]]:
    base = unicodedata.normalize("NFKD", character).casefold()
    # Folding may compose again, and decomposing may give capitals.
    base = unicodedata.normalize("NFKD", base)
    kept = [c for c in base if unicodedata.category(c)[0] in "LN"]
    code = ord(character)
    if not kept:
        marks = unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf")
        return (NOTHING if marks else SEPARATOR), []
    alone = any(first <= code < last for first, last in _ALONE) and code not in _GEORGIAN
    return (ALONE if alone else LETTER), [ord(c) for c in kept]
