"""Kinds of text: every byte is of exactly one, so bits by kind add up to all bits.

space           white space
digits          decimal digits, except in identifiers
punctuation     marks of writing, ASCII or not: . , ; : ! ? ' " ( ) - and Unicode's punctuation
code            the other ASCII marks, and identifiers: runs of ASCII letters, digits and _ that
                have a _, or a small letter before a capital
frequent words  words of ASCII letters that are among 5,000 common ones (`frequent_words.txt`)
rare words      other words in Latin letters
other           letters of other scripts, symbols, control characters, bytes that are not UTF-8

A word is a run of letters. The common words are a fixed list of those that occur in the most
documents over many domains, so a document's kinds depend only on its text.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import DIGIT, LETTER, SPACE, character_classes
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.utf8 import code_at, code_size

KINDS = ("space", "digits", "punctuation", "code", "frequent words", "rare words", "other")

_SPACE, _DIGITS, _PUNCTUATION, _CODE, _FREQUENT, _RARE, _OTHER = range(len(KINDS))
# Of a code point: a kind, or that it is a letter, whose word has to be seen first; or a _.
_LETTER, _UNDERSCORE = 16, 17
_LAST_MARK = 0x20000  # above it are ideographs, tags and private use
_PUNCTUATION_MARKS = ".,;:!?'\"()-"
_START, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_STEP = 1 << 12

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


def byte_kinds(text: bytes) -> Bytes:
    """The kind of every byte, as its place in `KINDS`."""
    data, kinds = np.frombuffer(text, np.uint8), np.empty(len(text), np.uint8)
    _mark(data, _classes(), _frequent_words(), kinds)
    return kinds


def totals(text: bytes, byte_nats: Floats | None) -> tuple[npt.NDArray[np.int64], Floats]:
    """Bytes and nats of each kind; the nats are NaN if those of bytes are unknown."""
    found, nats = np.zeros(len(KINDS), np.int64), np.zeros(len(KINDS))
    kinds = byte_kinds(text)
    if byte_nats is None:
        return np.bincount(kinds, minlength=len(KINDS)).astype(np.int64), np.full_like(nats, np.nan)
    if len(byte_nats) != len(text):
        raise ValueError(f"expected {len(text):,} numbers, one per byte, got {len(byte_nats):,}")
    _add_up(kinds, np.asarray(byte_nats, np.float64), found, nats)
    return found, nats


@cache
def frequent_words() -> frozenset[str]:
    """The words that count as frequent."""
    file = resources.files("barrow.score").joinpath("frequent_words.txt")
    return frozenset(file.read_text("ascii").split())


@cache
def _frequent_words() -> npt.NDArray[np.uint64]:
    """An open-addressing table of their hashes; 0 is an empty slot."""
    slots = np.zeros(1 << 15, np.uint64)
    for word in sorted(frequent_words()):
        value = int(_START)
        for byte in word.encode():
            value = ((value ^ byte) * int(_PRIME)) & 0xFFFFFFFFFFFFFFFF
        place = (value >> 32) & (len(slots) - 1)
        while slots[place]:
            place = (place + 1) & (len(slots) - 1)
        slots[place] = value
    return slots


@cache
def _classes() -> Bytes:
    """The class of every code point."""
    import unicodedata

    flags = character_classes()
    classes = np.full(len(flags), _OTHER, np.uint8)
    for code in range(_LAST_MARK):
        if unicodedata.category(chr(code))[0] == "P":
            classes[code] = _PUNCTUATION
        elif flags[code] & LETTER and unicodedata.name(chr(code), "").startswith("LATIN "):
            classes[code] = _LETTER
    classes[flags & DIGIT != 0] = _DIGITS
    classes[flags & SPACE != 0] = _SPACE
    for code in range(0x21, 0x7F):
        if not chr(code).isalnum():
            classes[code] = _PUNCTUATION if chr(code) in _PUNCTUATION_MARKS else _CODE
    classes[ord("_")] = _UNDERSCORE
    return classes


@compiled
def _size_at(text: Bytes, at: np.uint64) -> np.uint64:
    """Bytes of the character at a place; 0 where the bytes there are not those of a character."""
    size = code_size(text[at])
    if size == np.uint64(1):
        return size
    if text[at] < 0xC2 or text[at] > 0xF4 or at + size > np.uint64(len(text)):
        return np.uint64(0)
    for k in range(np.uint64(1), size):
        if text[at + k] & 0xC0 != 0x80:
            return np.uint64(0)
    return size


@compiled
def _runs_on(kind: int) -> bool:
    return kind in (_LETTER, _DIGITS, _UNDERSCORE)


@compiled
def _ascii_run(text: Bytes, first: np.uint64, classes: Bytes) -> tuple[np.uint64, bool]:
    """The end of a run of ASCII letters, digits and _, and whether it is an identifier."""
    at, one = first, np.uint64(1)
    is_identifier = False
    # One that continues a word with non-ASCII letters is not an identifier.
    continues = first > 0 and text[first - one] < 0x80 and _runs_on(classes[text[first - one]])
    while at < np.uint64(len(text)) and text[at] < 0x80:
        kind = classes[text[at]]
        if not _runs_on(kind):
            break
        if kind == _UNDERSCORE:
            is_identifier = True
        if at > first and 65 <= text[at] <= 90 and 97 <= text[at - one] <= 122:
            is_identifier = True
        at += one
    return at, is_identifier and not continues


@compiled
def _mark(text: Bytes, classes: Bytes, frequent: npt.NDArray[np.uint64], kinds: Bytes) -> None:
    """Fill `kinds`, run by run: a word, an identifier, or a character of another kind."""
    at, end, one = np.uint64(0), np.uint64(len(text)), np.uint64(1)
    no_identifier_until = at
    while at < end:
        first = at
        if at >= no_identifier_until:
            at, is_identifier = _ascii_run(text, at, classes)
            if is_identifier:
                kinds[first:at] = _CODE
                continue
            # It is scanned once, not for each of its words: a run may be a megabyte of digits.
            no_identifier_until, at = at, first
        size = _size_at(text, at)
        if size == np.uint64(0):
            kinds[at] = _OTHER
            at += one
            continue
        kind = classes[code_at(text, at)]
        if kind != _LETTER:
            kinds[at : at + size] = _CODE if kind == _UNDERSCORE else kind
            at += size
            continue
        value, ascii_only = _START, True
        while at < end:
            size = _size_at(text, at)
            if size == np.uint64(0) or classes[code_at(text, at)] != _LETTER:
                break
            ascii_only &= size == one
            value = (value ^ np.uint64(text[at] | 0x20)) * _PRIME
            at += size
        kinds[first:at] = _FREQUENT if ascii_only and _has(value, frequent) else _RARE


@compiled
def _has(value: np.uint64, slots: npt.NDArray[np.uint64]) -> bool:
    mask = np.uint64(len(slots) - 1)
    place = (value >> np.uint64(32)) & mask
    while slots[place] != 0:
        if slots[place] == value:
            return True
        place = (place + np.uint64(1)) & mask
    return False


@compiled
def _add_up(kinds: Bytes, nats: Floats, found: npt.NDArray[np.int64], total: Floats) -> None:
    """Bytes and nats by kind; in blocks, so that long texts lose no precision."""
    part = np.zeros(len(total))
    for begin in range(0, len(kinds), _STEP):
        part[:] = 0
        for at in range(begin, min(len(kinds), begin + _STEP)):
            kind = kinds[at]
            found[kind] += 1
            part[kind] += nats[at]
        for kind in range(len(total)):
            total[kind] += part[kind]
