"""A text as pieces: runs of letters and digits, separated by gaps.

Case and accents are ignored; blanks, line breaks, marks and HTML entities are only gaps. Prefix
sums of a polynomial in the letters, and in the digits, give the hash of any run of pieces at once.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.characters import (
    ALONE,
    KIND_SHIFT,
    LETTER,
    NOTHING,
    SEPARATOR,
    SEQUENCE,
    VALUE_MASK,
    letters,
)
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Hashes, finish_hash

MIX = np.uint64(0xA24BAED4963EE407)

_CHUNK = 1 << 14  # letters and digits parsed at a time
_LONGEST = 32  # more than the letters that one character maps to
_BASE = 0x9E3779B97F4A7C15
_SPECIAL = np.uint64(2)  # a byte that is neither a gap nor a letter (letters have odd hashes)


class Tables(NamedTuple):
    """The table of characters, hashes of ASCII letters, powers of the base and their inverses."""

    entries: npt.NDArray[np.uint32]
    sequences: npt.NDArray[np.uint32]
    byte_hashes: Hashes
    powers: Hashes
    inverses: Hashes


class Buffers(NamedTuple):
    """Sums over the letters and digits of a chunk; its pieces, as one number each: from the lowest
    bit on, whether a blank precedes it, and the digits (15 bits), letters (15) and bytes before it.
    The other two are prefixes, and the pieces at which they begin.
    """

    letter_sums: Hashes
    digit_sums: Hashes
    pieces: Hashes
    prefixes: Hashes
    starts: Hashes

    @classmethod
    def make(cls) -> Buffers:
        """Buffers for a chunk."""
        return cls(*(np.zeros(_CHUNK + 2 * _LONGEST, np.uint64) for _ in range(5)))


@cache
def tables_of_letters() -> Tables:
    """Made once."""
    table = letters()
    kinds = table.entries[:128] >> np.uint32(KIND_SHIFT)
    values = (table.entries[:128] & np.uint32(VALUE_MASK)).tolist()
    byte_hashes = np.full(256, _SPECIAL, np.uint64)
    for code in range(128):
        if not chr(code).isdecimal() and chr(code) != "&":
            is_letter = kinds[code] == LETTER
            byte_hashes[code] = _hash_of(np.uint64(values[code])) if is_letter else 0
    inverse = pow(_BASE, -1, 1 << 64)
    powers, inverses = [1], [1]
    for _ in range(_CHUNK + 2 * _LONGEST):
        powers.append(powers[-1] * _BASE % (1 << 64))
        inverses.append(inverses[-1] * inverse % (1 << 64))
    return Tables(
        table.entries,
        table.sequences,
        byte_hashes,
        np.array(powers, np.uint64),
        np.array(inverses, np.uint64),
    )


@compiled
def _hash_of(code: np.uint64) -> np.uint64:
    """The number of a character, never 0."""
    return finish_hash(code * MIX) | np.uint64(1)


@compiled
def parse(
    text: npt.NDArray[np.uint8],
    at: np.uint64,
    end: np.uint64,
    tables: Tables,
    buffers: Buffers,
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Parse from a gap on, a chunk at most: pieces, letters, digits, and where it ended."""
    entries, sequences, byte_hashes, powers, _ = tables
    letter_sums, digit_sums, pieces, _, _ = buffers
    start = at
    zero, one = np.uint64(0), np.uint64(1)
    num_pieces, num_letters, num_digits = zero, zero, zero
    letter_sum, digit_sum = zero, zero
    letter_sums[0] = digit_sums[0] = zero
    inside, white = zero, one
    piece = zero  # as it would begin here
    room = np.uint64(_CHUNK)
    stop = at
    while True:
        if at >= stop:  # the space left is enough for as many bytes of ASCII
            stop = min(end, at + room - min(room, num_letters + num_digits))
            if at >= stop:
                break
            piece = (at - start) << np.uint64(31) | num_letters << np.uint64(16) | num_digits << one
        byte = text[at]
        value = byte_hashes[byte]
        if value != _SPECIAL:
            # A letter or a gap: no branches, which would be mispredicted at every word's end.
            is_letter = value & one
            pieces[num_pieces] = piece | white
            piece += (one << np.uint64(31)) + (is_letter << np.uint64(16))
            num_pieces += is_letter & ~inside
            letter_sum += value * powers[num_letters]
            num_letters += is_letter
            letter_sums[num_letters] = letter_sum
            white = ~is_letter & (white | np.uint64(byte <= 0x20))
            inside = is_letter
            at += one
            continue
        first, stop = at, at  # it may be more than one
        code = code_at(text, at)
        at += code_size(byte)
        if byte == 0x26:  # an entity, such as &nbsp; or &#39;
            after = at
            while after < end and after < at + np.uint64(9):
                byte = text[after]
                if not (
                    0x30 <= byte < 0x3A
                    or 0x61 <= byte | 0x20 < 0x7B
                    or (byte == 0x23 and after == at)
                ):
                    break
                after += one
            if after < end and after > at + one and text[after] == 0x3B:
                at = after + one
        entry = entries[code]
        kind = entry >> np.uint32(KIND_SHIFT)
        if kind == NOTHING:
            continue
        character = entry & np.uint32(VALUE_MASK)
        if kind == SEPARATOR:
            inside, white = zero, white | np.uint64(character != 0)
            continue
        is_alone = np.uint64(kind == ALONE)
        if inside == zero or is_alone:
            pieces[num_pieces] = (
                (first - start) << np.uint64(31)
                | num_letters << np.uint64(16)
                | num_digits << one
                | (white | is_alone)
            )
            num_pieces += one
        place = np.uint64(character)
        while True:
            if entry & np.uint32(SEQUENCE):
                character = sequences[place]
                place += one
                if character == 0:
                    break
            value = _hash_of(np.uint64(character))
            if 0x30 <= character < 0x3A:
                digit_sum += value * powers[num_digits]
                num_digits += one
                digit_sums[num_digits] = digit_sum
            else:
                letter_sum += value * powers[num_letters]
                num_letters += one
                letter_sums[num_letters] = letter_sum
            if not entry & np.uint32(SEQUENCE):
                break
        inside, white = one - is_alone, is_alone
    pieces[num_pieces] = (
        (at - start) << np.uint64(31) | num_letters << np.uint64(16) | num_digits << one | one
    )
    return num_pieces, num_letters, num_digits, at


@compiled
def letters_before(piece: np.uint64) -> np.uint64:
    """Letters of the chunk before a piece."""
    return piece >> np.uint64(16) & np.uint64(0x7FFF)


@compiled
def digits_before(piece: np.uint64) -> np.uint64:
    """Digits of the chunk before a piece."""
    return piece >> np.uint64(1) & np.uint64(0x7FFF)


@compiled
def blank_before(piece: np.uint64) -> np.uint64:
    """1 if a blank is before a piece."""
    return piece & np.uint64(1)


@compiled
def whole_pieces(pieces: Hashes, number: np.uint64, reach: np.uint64) -> np.uint64:
    """Of the pieces of a chunk that is not the last, those with `reach` characters after them;
    at least the first.
    """
    size = letters_before(pieces[number]) + digits_before(pieces[number])
    while number > np.uint64(1) and (
        letters_before(pieces[number]) + digits_before(pieces[number]) + reach > size
    ):
        number -= np.uint64(1)
    return number
