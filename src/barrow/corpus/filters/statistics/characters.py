"""How many characters of each kind a text has."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.characters import NUM_CODES
from barrow.corpus.kernels.jit import compiled, trailing_zeros
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import eight_byte_view

Counts = npt.NDArray[np.int64]

_HIGH = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_CASE = np.uint64(0x2020202020202020)
_FROM_A, _AFTER_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
_FROM_0, _AFTER_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_FROM_GRAPH = np.uint64(0x5F5F5F5F5F5F5F5F)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_NUMBER_SIGN, _NEWLINE = np.uint64(0x2323232323232323), np.uint64(0x0A0A0A0A0A0A0A0A)
_DOT, _BRACKET = np.uint64(0x2E2E2E2E2E2E2E2E), np.uint64(0x7B7B7B7B7B7B7B7B)
_FROM_VT, _AFTER_CR = np.uint64(0x7575757575757575), np.uint64(0x7272727272727272)
_FROM_FS, _AFTER_RS = np.uint64(0x6464646464646464), np.uint64(0x6161616161616161)
_ELLIPSIS = 0x2026


class CharacterCounts(NamedTuple):
    """For each text: its characters; letters, capitals among them, decimal digits; punctuation
    marks and symbols, ``#`` and ``{`` among them; ellipses (``...`` and ``…``); newlines,
    and whether other characters end lines.
    """

    characters: Counts
    letters: Counts
    capitals: Counts
    digits: Counts
    symbols: Counts
    number_signs: Counts
    curly_brackets: Counts
    ellipses: Counts
    newlines: Counts
    other_breaks: Counts


def character_counts(
    text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> CharacterCounts:
    """The counts of texts in one UTF-8 buffer."""
    counts = np.empty((len(CharacterCounts._fields), len(offsets) - 1), np.int64)
    _count(text, eight_byte_view(text), offsets, character_classes(), counts)
    return CharacterCounts(*counts)


@compiled
def _sum(lanes: np.uint64) -> np.int64:
    """The sum of eight bytes."""
    pairs = (lanes & np.uint64(0x00FF00FF00FF00FF)) + (
        lanes >> np.uint64(8) & np.uint64(0x00FF00FF00FF00FF)
    )
    return np.int64(pairs * np.uint64(0x0001000100010001) >> np.uint64(48))


@compiled
def _count(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: npt.NDArray[np.int64],
    classes: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.int64],
) -> None:
    """Eight bytes at once, ASCII counted in eight lanes of a byte each; other characters one by
    one.
    """
    one, eight, seven = np.uint64(1), np.uint64(8), np.uint64(7)
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        first = at
        characters = letters = capitals = digits = symbols = np.int64(0)
        signs = brackets = ellipses = newlines = np.int64(0)
        dots = np.uint64(0)  # two in a row; three have two among the same eight bytes
        breaks = np.uint64(0)
        while at < end:
            stop = min(end, at + np.uint64(255 * 8))  # lanes hold no more
            start = at
            in_letters = in_capitals = in_digits = np.uint64(0)
            in_symbols = in_signs = in_brackets = in_newlines = in_others = np.uint64(0)
            while at + eight <= stop:
                chunk = eights[at] & _SEVENS
                high = eights[at] & _HIGH
                seven_bit = high ^ _HIGH
                folded = chunk | _CASE
                letter = (folded + _FROM_A) & ~(folded + _AFTER_Z) & seven_bit
                digit = (chunk + _FROM_0) & ~(chunk + _AFTER_9) & seven_bit
                symbol = (chunk + _FROM_GRAPH) & ~(chunk + _ONES) & ~letter & ~digit & seven_bit
                dot = ~((chunk ^ _DOT) + _SEVENS) & seven_bit
                dots |= dot & dot >> eight
                breaks |= (chunk + _FROM_VT) & ~(chunk + _AFTER_CR) & seven_bit
                breaks |= (chunk + _FROM_FS) & ~(chunk + _AFTER_RS) & seven_bit
                in_letters += letter >> seven
                in_capitals += (letter & ~(chunk << np.uint64(2))) >> seven
                in_digits += digit >> seven
                in_symbols += symbol >> seven
                in_signs += (~((chunk ^ _NUMBER_SIGN) + _SEVENS) & seven_bit) >> seven
                in_brackets += (~((chunk ^ _BRACKET) + _SEVENS) & seven_bit) >> seven
                in_newlines += (~((chunk ^ _NEWLINE) + _SEVENS) & seven_bit) >> seven
                if high != 0:
                    begun = high & chunk << one  # first bytes of characters
                    in_others += (high ^ begun) >> seven
                    while begun != 0:
                        place = at + (np.uint64(trailing_zeros(begun)) >> np.uint64(3))
                        code = code_at(text, place)
                        flags = classes[code]
                        letters += (flags & LETTER) != 0
                        capitals += (flags & CAPITAL) != 0
                        digits += (flags & DIGIT) != 0
                        symbols += (flags & SYMBOL) != 0
                        ellipses += code == _ELLIPSIS
                        if flags & BREAK:
                            breaks = _HIGH
                        begun &= begun - one
                at += eight
            characters += np.int64(at - start) - _sum(in_others)
            letters += _sum(in_letters)
            capitals += _sum(in_capitals)
            digits += _sum(in_digits)
            symbols += _sum(in_symbols)
            signs += _sum(in_signs)
            brackets += _sum(in_brackets)
            newlines += _sum(in_newlines)
            if stop == end:  # the last few bytes
                while at < end:
                    byte = text[at]
                    if byte & 0xC0 == 0x80:  # of a character that was counted
                        at += one
                        continue
                    code = np.uint32(byte) if byte < 0x80 else code_at(text, at)
                    if code == 0x2E and at > first and text[at - one] == 0x2E:
                        dots |= one
                    at += code_size(byte)
                    flags = classes[code]
                    characters += 1
                    letters += (flags & LETTER) != 0
                    capitals += (flags & CAPITAL) != 0
                    digits += (flags & DIGIT) != 0
                    symbols += (flags & SYMBOL) != 0
                    signs += code == 0x23
                    brackets += code == 0x7B
                    newlines += code == 0x0A
                    ellipses += code == _ELLIPSIS
                    if flags & BREAK and code != 0x0A:
                        breaks = _HIGH
        if dots:
            ellipses += _dot_ellipses(text, first, end)
        counts[0, document], counts[1, document] = characters, letters
        counts[2, document], counts[3, document] = capitals, digits
        counts[4, document], counts[5, document] = symbols, signs
        counts[6, document], counts[7, document] = brackets, ellipses
        counts[8, document], counts[9, document] = newlines, breaks & _HIGH != 0


@compiled
def _dot_ellipses(text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64) -> np.int64:
    """How often ``...`` occurs, without overlap."""
    number = run = np.int64(0)
    for at in range(first, end):
        run = run + np.int64(1) if text[at] == 0x2E else np.int64(0)
        if run == 3:
            number += 1
            run = np.int64(0)
    return number


# White space (str.isspace), and that which ends a line (str.splitlines); letters (str.isalpha) and
# capitals (str.isupper); decimal digits; Unicode's punctuation and symbols; marks that alone are
# not a word; marks that end a sentence.
SPACE, BREAK, LETTER, CAPITAL, DIGIT, SYMBOL, MARK, TERMINAL = (1 << bit for bit in range(8))

Classes = npt.NDArray[np.uint8]

_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
# The marks that datatrove calls punctuation, without a full-width 1 among them. All control
# characters are marks too.
_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«´»–—’“”„…∶━►、。〈〉《》「」【】！％（），．：；？～"
# Unicode's Sentence_Terminal, which `unicodedata` does not have, and the strokes of Tibetan, where
# sentences end as well.
_TERMINALS = (
    *((0x21, 0x22), (0x2E, 0x2F), (0x3F, 0x40), (0x589, 0x58A), (0x61D, 0x620), (0x6D4, 0x6D5)),
    *((0x700, 0x703), (0x7F9, 0x7FA), (0x837, 0x838), (0x839, 0x83A), (0x83D, 0x83F)),
    (0xF0D, 0xF12),
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
