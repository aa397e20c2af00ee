"""Runs of words, compared by their letters and digits: the normalisation of every text search.

Two runs are the same if their letters are, in order, and their digits are, in order; or if their
letters are and one of the two has no digits at all (then the other's are line and footnote
numbers). Everything else is ignored: blanks, line breaks, marks, case, accents, HTML entities. So
it makes no difference where a text has its gaps, but a run begins and ends at one.

A text is parsed into pieces (`word_pieces`). A text to search for has a row (KEY, PREFIX, SHAPE)
for every run of n pieces. In a document, the first letters of a run are looked up at every gap;
only where they are known, whole runs are compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, finish_hash
from barrow.corpus.kernels.word_pieces import (
    MIX,
    Buffers,
    Tables,
    blank_before,
    digits_before,
    letters_before,
    parse,
    tables_of_letters,
    whole_pieces,
)

Runs = npt.NDArray[np.uint64]
KEY, PREFIX, SHAPE = 0, 1, 2

# SHAPE: letters, letters and digits, the window of the prefix, and the place of the run in its
# text. The highest bit of the window is set if the run begins after a blank.
_SIZE_BITS, _BLANK_BIT, _PLACE_SHIFT = 16, 39, np.uint64(40)
_MAX_PLACES = 1 << 24

_MAX_SIZE = 2048  # letters and digits of a run
# The prefix of a run is in a window: its first 1, 2, … 32 letters, or its first 1, 2, 4, 8 digits.
_LETTER_WINDOWS, _DIGIT_WINDOWS = 6, 4
_FEW = 5  # runs of fewer pieces must have the same blanks: now here is not nowhere
_FEW_LETTERS = 8  # runs of fewer letters than this, and than digits, are looked up by digits

_BROKEN = re.compile(r"(?<=\w)[-\u2010]\n\s*(?=\w)")  # a word, at the end of a line

_ANY = np.uint64(0xD6E8FEB86659FD93)


class RunTable(NamedTuple):
    """Runs to search for, by their prefixes.

    `keys` and `sizes` (in letters) have every run once, sorted by prefix and size; those of a
    prefix are ``firsts[i]`` to ``firsts[i + 1]``, and `slots` an open-addressing table from
    `prefixes` to i + 1 (0 is empty). `bits` is a Bloom filter of the prefixes: for window k it has
    ``spans[k]`` to ``spans[k + 1]``. A run spans `reach` letters and digits of a document.
    """

    keys: Hashes
    sizes: npt.NDArray[np.uint32]
    prefixes: Hashes
    firsts: npt.NDArray[np.uint32]
    slots: npt.NDArray[np.uint32]
    bits: Hashes
    spans: Offsets
    reach: int


class Hits(NamedTuple):
    """Runs that were found: the document, the piece at which each begins, the place in `keys`."""

    document: npt.NDArray[np.int64]
    piece: npt.NDArray[np.int64]
    run: npt.NDArray[np.int64]


def runs_of(texts: Sequence[str], ngram: int, *, whole_words: bool = False) -> tuple[Runs, Offsets]:
    """The runs of `ngram` words of texts; those of text i are ``runs[offsets[i]:offsets[i + 1]]``.

    Words are pieces, or with `whole_words` separated by blanks. A run has one row; one that ends
    inside a word (don|'t) has another that ends after it; and one with digits another without them,
    of `ngram` words that have letters.
    """
    data = [_BROKEN.sub("-", text).encode("utf-8", "replace") for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    text = np.frombuffer(b"".join(data), np.uint8)
    # A piece and what follows it take two bytes, or three without a gap; rows are three at most.
    runs = np.empty((3 * (len(text) // 2 + 2 * len(offsets)), 3), np.uint64)
    run_offsets = np.empty(len(offsets), np.int64)
    number = _find_runs(
        text, offsets, ngram, whole_words, tables_of_letters(), Buffers.make(), runs, run_offsets
    )
    return runs[:number].copy(), run_offsets


def num_words(text: str) -> int:
    """The number of words of a text, separated by blanks."""
    return len(np.unique(places_of(runs_of([text], 1, whole_words=True)[0])))


def places_of(runs: Runs) -> npt.NDArray[np.int64]:
    """Which run of its text each row is of."""
    return (runs[:, SHAPE] >> _PLACE_SHIFT).astype(np.int64)


def after_blanks(runs: Runs) -> npt.NDArray[np.bool_]:
    """Which rows are of a run that does not begin inside a word."""
    found: npt.NDArray[np.bool_] = (runs[:, SHAPE] >> np.uint64(_BLANK_BIT) & np.uint64(1)) != 0
    return found


def with_places(runs: Runs, places: npt.NDArray[np.int64]) -> Runs:
    """The rows with other places."""
    shape = runs[:, SHAPE] & ((np.uint64(1) << _PLACE_SHIFT) - np.uint64(1))
    shape |= places.astype(np.uint64) << _PLACE_SHIFT
    return np.stack([runs[:, KEY], runs[:, PREFIX], shape], axis=1)


def run_table(runs: Runs) -> tuple[RunTable, npt.NDArray[np.int64]]:
    """A table of runs to search for, and the place of each of the rows in its keys."""
    size_mask = np.uint64((1 << _SIZE_BITS) - 1)
    sizes = (runs[:, SHAPE] & size_mask).astype(np.uint32)
    windows = (runs[:, SHAPE] >> np.uint64(2 * _SIZE_BITS)).astype(np.uint8) & np.uint8(0x7F)
    order = np.lexsort((runs[:, KEY], sizes, runs[:, PREFIX]))
    is_new = np.diff(runs[order, KEY], prepend=runs[order[:1], KEY] + np.uint64(1)) != 0
    place = np.empty(len(runs), np.int64)
    place[order] = np.cumsum(is_new) - 1
    kept = order[is_new]
    prefixes, firsts = np.unique(runs[kept, PREFIX], return_index=True)
    spans = [0]
    for window in range(_LETTER_WINDOWS + _DIGIT_WINDOWS):
        number = int((windows[kept[firsts]] == window).sum())
        spans.append(spans[-1] + (1 << (number // 8).bit_length() if number else 0))
    slots = np.zeros(1 << max(4, int(2 * len(prefixes)).bit_length()), np.uint32)
    bits = np.zeros(spans[-1], np.uint64)
    table = RunTable(
        runs[kept, KEY],
        sizes[kept],
        prefixes,
        np.append(firsts, len(kept)).astype(np.uint32),
        slots,
        bits,
        np.array(spans, np.int64),
        2 * int((runs[:, SHAPE] >> np.uint64(_SIZE_BITS) & size_mask).max(initial=0)) + 64,
    )
    _fill(prefixes, windows[kept[firsts]], slots, bits, table.spans)
    return table, place


def find_runs(text: npt.NDArray[np.uint8], offsets: Offsets, table: RunTable) -> Hits:
    """The runs of a table that are in texts in one UTF-8 buffer, as in a block."""
    if not len(table.keys):
        return Hits(*np.empty((3, 0), np.int64))
    room = 1 << 16
    while True:
        found = np.empty((room, 3), np.int64)
        number = _scan(text, offsets, tables_of_letters(), Buffers.make(), table, found)
        if number <= room:
            return Hits(*found[:number].T)
        room = int(number)


@compiled
def _key(letter_hash: np.uint64, digit_hash: np.uint64, blanks: np.uint64) -> np.uint64:
    """The key of a run; `blanks` count in runs of few pieces, else they are 0."""
    value = finish_hash(letter_hash) ^ (digit_hash * MIX) ^ (blanks * _ANY)
    return max(finish_hash(value), np.uint64(1))


@compiled
def _prefix(value: np.uint64, window: np.uint64) -> np.uint64:
    value = (value ^ window) * MIX
    return value ^ (value >> np.uint64(29))


@compiled
def _find_runs(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    ngram: int,
    whole_words: bool,
    tables: Tables,
    buffers: Buffers,
    runs: Runs,
    run_offsets: Offsets,
) -> np.uint64:
    letter_sums, digit_sums, pieces, _, _ = buffers
    zero, one = np.uint64(0), np.uint64(1)
    inverses = tables.inverses
    number = zero
    wanted = np.uint64(ngram)
    for document in range(len(offsets) - 1):
        run_offsets[document] = number
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        place = zero
        while at < end:
            num_pieces, _, _, next_at = parse(text, at, end, tables, buffers)
            stop = num_pieces
            if next_at < end:  # what may not be whole comes again with the next chunk
                stop = whole_pieces(pieces, num_pieces, np.uint64(_MAX_SIZE))
                next_at = at + (pieces[stop] >> np.uint64(31))
            for i in range(stop):
                first = np.uint64(i)
                if whole_words and not blank_before(pieces[first]):
                    continue
                # The ends of n words, of these when the last is whole, of n that have letters.
                exact, num_words = first, zero
                while exact < num_pieces and num_words < wanted:
                    exact += one
                    num_words += one if not whole_words else blank_before(pieces[exact])
                if num_words < wanted:
                    continue
                whole, furthest = exact, min(num_pieces, first + np.uint64(3) * wanted)
                while whole < furthest and not blank_before(pieces[whole]):
                    whole += one
                last, num_words, has_letters = first, zero, zero
                while last < num_pieces and num_words < wanted:
                    last += one
                    has_letters |= np.uint64(
                        letters_before(pieces[last]) > letters_before(pieces[last - one])
                    )
                    if not whole_words or blank_before(pieces[last]):
                        num_words += has_letters
                        has_letters = zero
                s, d = letters_before(pieces[first]), digits_before(pieces[first])
                written = zero
                for kind in range(3):
                    after = exact if kind == 0 else whole if kind == 1 else last
                    m, n = letters_before(pieces[after]) - s, digits_before(pieces[after]) - d
                    if kind == 1 and (whole == exact or not blank_before(pieces[whole])):
                        continue
                    if kind == 2 and (num_words < wanted or n == zero):
                        continue
                    if m + n == zero or m + n > np.uint64(_MAX_SIZE):
                        continue
                    letter_hash = (letter_sums[s + m] - letter_sums[s]) * inverses[s]
                    digit_hash = (digit_sums[d + n] - digit_sums[d]) * inverses[d]
                    blanks = zero
                    if after - first < np.uint64(_FEW):
                        for k in range(first, after):
                            blanks += blank_before(pieces[np.uint64(k) + one])
                    by_digits = kind < 2 and m < np.uint64(_FEW_LETTERS) and n + n > m
                    window = np.uint64(_DIGIT_WINDOWS - 1 if by_digits else _LETTER_WINDOWS - 1)
                    while one << window > (n if by_digits else m):
                        window -= one
                    size = one << window
                    if by_digits:
                        value = (digit_sums[d + size] - digit_sums[d]) * inverses[d]
                        window += np.uint64(_LETTER_WINDOWS)
                    else:
                        value = (letter_sums[s + size] - letter_sums[s]) * inverses[s]
                    runs[number, KEY] = _key(letter_hash, _ANY if kind == 2 else digit_hash, blanks)
                    runs[number, PREFIX] = _prefix(value, window)
                    runs[number, SHAPE] = (
                        m
                        | (m + n) << np.uint64(_SIZE_BITS)
                        | window << np.uint64(2 * _SIZE_BITS)
                        | blank_before(pieces[first]) << np.uint64(_BLANK_BIT)
                        | (place & np.uint64(_MAX_PLACES - 1)) << _PLACE_SHIFT
                    )
                    number += one
                    written = one
                place += written
            at = next_at
    run_offsets[len(offsets) - 1] = number
    return number


@compiled
def _bits_of(prefix: np.uint64) -> np.uint64:
    """Three bits of a number of the filter, which the lowest bits of the prefix choose."""
    one, six = np.uint64(1), np.uint64(63)
    return (
        one << (prefix >> np.uint64(34) & six)
        | one << (prefix >> np.uint64(44) & six)
        | one << (prefix >> np.uint64(54) & six)
    )


@compiled
def _fill(
    prefixes: Hashes,
    windows: npt.NDArray[np.uint8],
    slots: npt.NDArray[np.uint32],
    bits: Hashes,
    spans: Offsets,
) -> None:
    mask = np.uint64(len(slots) - 1)
    for k in range(len(prefixes)):
        slot = prefixes[k] >> np.uint64(20) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = k + 1
        first, after = np.uint64(spans[windows[k]]), np.uint64(spans[windows[k] + 1])
        bits[first + (prefixes[k] & (after - first - np.uint64(1)))] |= _bits_of(prefixes[k])


@compiled
def _scan(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    tables: Tables,
    buffers: Buffers,
    table: RunTable,
    found: npt.NDArray[np.int64],
) -> np.int64:
    """Fill `found` as far as it has space; returns how many there are."""
    letter_sums, digit_sums, pieces, prefixes, starts = buffers
    inverses = tables.inverses
    zero, one = np.uint64(0), np.uint64(1)
    spans, bits = table.spans, table.bits
    number = np.int64(0)
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        before = np.int64(0)
        while at < end:
            num_pieces, num_letters, num_digits, next_at = parse(text, at, end, tables, buffers)
            stop = num_pieces
            if next_at < end:  # what may not be whole comes again with the next chunk
                stop = whole_pieces(pieces, num_pieces, np.uint64(table.reach))
                next_at = at + (pieces[stop] >> np.uint64(31))
            for k in range(_LETTER_WINDOWS + _DIGIT_WINDOWS):
                base = np.uint64(spans[k])
                mask = np.uint64(spans[k + 1]) - base - one
                if spans[k] == spans[k + 1]:
                    continue
                # In separate loops, and without functions that take an array: one after the
                # other these loads would take as long as all else together.
                window, num = np.uint64(k), zero
                if k < _LETTER_WINDOWS:
                    size = one << window
                    for i in range(stop):
                        s = letters_before(pieces[np.uint64(i)])
                        if s + size > num_letters:
                            break
                        value = (letter_sums[s + size] - letter_sums[s]) * inverses[s]
                        prefixes[num] = _prefix(value, window)
                        starts[num] = num
                        num += one
                else:
                    size = one << (window - np.uint64(_LETTER_WINDOWS))
                    for i in range(stop):
                        d = digits_before(pieces[np.uint64(i)])
                        if d + size > num_digits:
                            break
                        # Eight digits, and fewer than eight letters, are in sixteen pieces at most.
                        ahead = min(num_pieces, np.uint64(i) + np.uint64(16))
                        if digits_before(pieces[ahead]) < d + size:
                            continue
                        value = (digit_sums[d + size] - digit_sums[d]) * inverses[d]
                        prefixes[num] = _prefix(value, window)
                        starts[num] = np.uint64(i)
                        num += one
                num_likely = zero
                for i in range(num):
                    prefix = prefixes[np.uint64(i)]
                    wanted = _bits_of(prefix)
                    prefixes[num_likely] = prefix
                    starts[num_likely] = starts[np.uint64(i)]
                    num_likely += np.uint64(bits[base + (prefix & mask)] & wanted == wanted)
                if num_likely:
                    number = _compare(
                        num_likely,
                        num_pieces,
                        tables,
                        buffers,
                        table,
                        found,
                        number,
                        document,
                        before,
                    )
            before += np.int64(stop)
            at = next_at
    return number


@compiled
def _compare(
    num_likely: np.uint64,
    num_pieces: np.uint64,
    tables: Tables,
    buffers: Buffers,
    table: RunTable,
    found: npt.NDArray[np.int64],
    number: np.int64,
    document: int,
    before: np.int64,
) -> np.int64:
    """Add to `found` the runs that begin at the likely pieces."""
    letter_sums, digit_sums, pieces, likely, starts = buffers
    keys, sizes, prefixes, firsts, slots = (
        table.keys,
        table.sizes,
        table.prefixes,
        table.firsts,
        table.slots,
    )
    inverses, reach = tables.inverses, np.uint64(table.reach)
    zero, one = np.uint64(0), np.uint64(1)
    mask = np.uint64(len(slots) - 1)
    for i in range(num_likely):
        prefix, first = likely[np.uint64(i)], starts[np.uint64(i)]
        slot = prefix >> np.uint64(20) & mask
        while slots[slot] != 0 and prefixes[slots[slot] - 1] != prefix:
            slot = (slot + one) & mask
        if slots[slot] == 0:
            continue
        row, after = np.uint64(firsts[slots[slot] - 1]), np.uint64(firsts[slots[slot]])
        s, d = letters_before(pieces[first]), digits_before(pieces[first])
        begins_with_number = letters_before(pieces[first + one]) == s
        last, blanks = first, zero
        while last < num_pieces:
            last += one
            blanks += blank_before(pieces[last])
            m, n = letters_before(pieces[last]) - s, digits_before(pieces[last]) - d
            if m + n > reach:
                break
            while row < after and sizes[row] < m:
                row += one
            if row == after:
                break
            if sizes[row] > m:
                continue
            letter_hash = (letter_sums[s + m] - letter_sums[s]) * inverses[s]
            digit_hash = (digit_sums[d + n] - digit_sums[d]) * inverses[d]
            few = blanks if blanks < np.uint64(_FEW) else zero
            exact, exact_few = (
                _key(letter_hash, digit_hash, zero),
                _key(letter_hash, digit_hash, few),
            )
            # One of the two may have no digits; but a number is not the first word of such a run.
            other = digit_hash if begins_with_number else zero if n > zero else _ANY
            loose, loose_few = _key(letter_hash, other, zero), _key(letter_hash, other, few)
            at = row
            while at < after and sizes[at] == m:
                key = keys[at]
                if key in (exact, loose, exact_few, loose_few):
                    if number < len(found):
                        found[number, 0] = document
                        found[number, 1] = before + np.int64(first)
                        found[number, 2] = at
                    number += 1
                at += one
    return number
