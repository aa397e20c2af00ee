"""How many characters of each kind a text has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.compiled import compiled
from barrow.corpus.filters.character_classes import (
    BREAK,
    CAPITAL,
    DIGIT,
    LETTER,
    SYMBOL,
    character_classes,
)
from barrow.corpus.utf8 import code_at, code_size
from barrow.corpus.word_hashes import eight_byte_view

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
    and other characters that end lines (only whether there are any).
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
    """The counts of texts that lie in one UTF-8 buffer."""
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
    """Eight ASCII bytes at once, counted in eight lanes of a byte each; others one by one."""
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
            in_symbols = in_signs = in_brackets = in_newlines = np.uint64(0)
            while at + eight <= stop:
                chunk = eights[at]
                if chunk & _HIGH:
                    break
                folded = chunk | _CASE
                letter = (folded + _FROM_A) & ~(folded + _AFTER_Z) & _HIGH
                digit = (chunk + _FROM_0) & ~(chunk + _AFTER_9) & _HIGH
                symbol = (chunk + _FROM_GRAPH) & ~(chunk + _ONES) & ~letter & ~digit & _HIGH
                dot = ~((chunk ^ _DOT) + _SEVENS) & _HIGH
                dots |= dot & dot >> eight
                breaks |= (chunk + _FROM_VT) & ~(chunk + _AFTER_CR)
                breaks |= (chunk + _FROM_FS) & ~(chunk + _AFTER_RS)
                in_letters += letter >> seven
                in_capitals += (letter & ~(chunk << np.uint64(2))) >> seven
                in_digits += digit >> seven
                in_symbols += symbol >> seven
                in_signs += (~((chunk ^ _NUMBER_SIGN) + _SEVENS) & _HIGH) >> seven
                in_brackets += (~((chunk ^ _BRACKET) + _SEVENS) & _HIGH) >> seven
                in_newlines += (~((chunk ^ _NEWLINE) + _SEVENS) & _HIGH) >> seven
                at += eight
            characters += np.int64(at - start)
            letters += _sum(in_letters)
            capitals += _sum(in_capitals)
            digits += _sum(in_digits)
            symbols += _sum(in_symbols)
            signs += _sum(in_signs)
            brackets += _sum(in_brackets)
            newlines += _sum(in_newlines)
            if at + eight <= stop or stop == end:  # not ASCII, or the last few bytes
                stop = min(end, at + eight)
                while at < stop or (at + eight <= end and eights[at] & _HIGH):
                    byte = text[at]
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
