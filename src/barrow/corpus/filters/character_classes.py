"""What a character is, for statistics of texts: a byte of flags for every code point."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

from barrow.corpus.characters import NUM_CODES
from barrow.corpus.compiled import compiled
from barrow.corpus.utf8 import code_at

# White space (str.isspace), of which some ends a line (str.splitlines); letters (str.isalpha) and
# capitals (str.isupper); decimal digits; Unicode's punctuation and symbols; the marks of which a
# word that is no word consists; marks that end a sentence.
SPACE, BREAK, LETTER, CAPITAL, DIGIT, SYMBOL, MARK, TERMINAL = (1 << bit for bit in range(8))

Classes = npt.NDArray[np.uint8]

_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
# The marks that datatrove calls punctuation, less a full-width 1 that got among them. All control
# characters are marks too.
_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«´»–—’“”„…∶━►、。〈〉《》「」【】！％（），．：；？～"
# Unicode's Sentence_Terminal, which `unicodedata` does not have.
_TERMINALS = (
    *((0x21, 0x22), (0x2E, 0x2F), (0x3F, 0x40), (0x589, 0x58A), (0x61D, 0x620), (0x6D4, 0x6D5)),
    *((0x700, 0x703), (0x7F9, 0x7FA), (0x837, 0x838), (0x839, 0x83A), (0x83D, 0x83F)),
    *((0x964, 0x966), (0x104A, 0x104C), (0x1362, 0x1363), (0x1367, 0x1369), (0x166E, 0x166F)),
    *((0x1735, 0x1737), (0x17D4, 0x17D7), (0x17D9, 0x17DB), (0x1803, 0x1804), (0x1809, 0x180A)),
    *((0x1944, 0x1946), (0x1AA8, 0x1AAC), (0x1B5A, 0x1B5C), (0x1B5E, 0x1B60), (0x1B7D, 0x1B7F)),
    *((0x1C3B, 0x1C3D), (0x1C7E, 0x1C80), (0x203C, 0x203E), (0x2047, 0x204A), (0x2E2E, 0x2E2F)),
    *((0x2E3C, 0x2E3D), (0x2E53, 0x2E55), (0x3002, 0x3003), (0xA4FF, 0xA500), (0xA60E, 0xA610)),
    *((0xA6F3, 0xA6F4), (0xA6F7, 0xA6F8), (0xA876, 0xA878), (0xA8CE, 0xA8D0), (0xA92F, 0xA930)),
    *((0xA9C8, 0xA9CA), (0xAA5D, 0xAA60), (0xAAF0, 0xAAF2), (0xABEB, 0xABEC), (0xFE52, 0xFE53)),
    *((0xFE56, 0xFE58), (0xFF01, 0xFF02), (0xFF0E, 0xFF0F), (0xFF1F, 0xFF20), (0xFF61, 0xFF62)),
    *((0x10A56, 0x10A58), (0x10F55, 0x10F5A), (0x10F86, 0x10F8A), (0x11047, 0x11049)),
    *((0x110BE, 0x110C2), (0x11141, 0x11144), (0x111C5, 0x111C7), (0x111CD, 0x111CE)),
    *((0x111DE, 0x111E0), (0x11238, 0x1123A), (0x1123B, 0x1123D), (0x112A9, 0x112AA)),
    *((0x1144B, 0x1144D), (0x115C2, 0x115C4), (0x115C9, 0x115D8), (0x11641, 0x11643)),
    *((0x1173C, 0x1173F), (0x11944, 0x11945), (0x11946, 0x11947), (0x11A42, 0x11A44)),
    *((0x11A9B, 0x11A9D), (0x11C41, 0x11C43), (0x11EF7, 0x11EF9), (0x11F43, 0x11F45)),
    *((0x16A6E, 0x16A70), (0x16AF5, 0x16AF6), (0x16B37, 0x16B39), (0x16B44, 0x16B45)),
    *((0x16E98, 0x16E99), (0x1BC9F, 0x1BCA0), (0x1DA88, 0x1DA89)),
)


@cache
def character_classes() -> Classes:
    """The flags of every code point; made once, from the interpreter's Unicode data."""
    every = np.arange(NUM_CODES, dtype=np.uint32).view("U1")
    classes = np.zeros(NUM_CODES, np.uint8)
    for flag, has in (
        (SPACE, np.strings.isspace),
        (LETTER, np.strings.isalpha),
        (CAPITAL, np.strings.isupper),
        (DIGIT, np.strings.isdecimal),
    ):
        classes[has(every)] |= flag
    classes[[ord(c) for c in _BREAKS]] |= BREAK
    # All symbols are below, in Unicode 17 too.
    symbols = [c for c in range(0x20000) if unicodedata.category(chr(c))[0] in "PS"]
    classes[symbols] |= SYMBOL
    classes[[ord(c) for c in _MARKS]] |= MARK
    classes[[*range(0x20), *range(0x7F, 0xA0)]] |= MARK
    for first, last in _TERMINALS:
        classes[first:last] |= TERMINAL | MARK
    return classes


@compiled
def class_before(
    text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64, classes: Classes
) -> np.uint8:
    """The flags of the last character of ``text[first:end]``, which is not empty."""
    at = end - np.uint64(1)
    while at > first and text[at] & 0xC0 == 0x80:
        at -= np.uint64(1)
    return np.uint8(classes[code_at(text, at)])


@compiled
def num_characters(text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64) -> np.int64:
    """Characters of ``text[first:end]``."""
    number = np.int64(0)
    for at in range(first, end):
        number += text[at] & 0xC0 != 0x80
    return number
