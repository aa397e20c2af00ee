"""How often each run of n bytes occurs: sorted in pieces, merged, in bounded memory.

An n-gram of up to eight bytes is one number, its first byte highest, so those of one context are
adjacent when sorted. Before its first byte a document has n − 1 zero bytes: every byte, the first
of a document too, is the end of exactly one n-gram.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.archive import Block
from barrow.corpus.kernels.jit import compiled

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

MAX_ORDER = 8
MAX_NGRAMS = 1 << 25
_PIECE = 1 << 23


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """`keys` are the distinct n-grams of `order` bytes, ascending, `counts` how often they occur.

    `num_bytes` were read; `num_dropped` of them ended n-grams that were dropped, the rarest first,
    to bound memory.
    """

    order: int
    keys: Keys
    counts: Counts
    num_bytes: int
    num_dropped: int


def count_ngrams(
    blocks: Iterable[Block], order: int, *, max_ngrams: int = MAX_NGRAMS, piece: int = _PIECE
) -> NgramCounts:
    """Count the n-grams of texts.

    At most `max_ngrams` distinct ones are kept from one `piece` (bytes sorted at a time) to the
    next: memory is about 32 bytes for each of these and 16 for each byte of a piece.
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order must be from 1 to {MAX_ORDER}, got {order}")
    if max_ngrams < 1 or piece < 1:
        raise ValueError("max_ngrams and piece must be ≥ 1")
    keys, counts = np.empty(0, np.uint64), np.empty(0, np.int64)
    buffer = np.empty(piece, np.uint64)
    held = num_bytes = num_dropped = 0

    def take_in() -> None:
        nonlocal keys, counts, held, num_dropped
        buffer[:held].sort()
        keys, counts = merged(keys, counts, *run_lengths(buffer[:held]))
        held = 0
        if len(keys) > max_ngrams:
            keys, counts, dropped = _drop_rarest(keys, counts, max_ngrams)
            num_dropped += dropped

    for block in blocks:
        at, end = int(block.offsets[0]), int(block.offsets[-1])
        num_bytes += end - at
        while at < end:
            stop = min(end, at + piece - held)
            _ngrams_of(block.text, block.offsets, at, stop, order, buffer[held:])
            held += stop - at
            at = stop
            if held == piece:
                take_in()
    take_in()
    return NgramCounts(order, keys, counts, num_bytes, num_dropped)


def run_lengths(keys: Keys) -> tuple[Keys, Counts]:
    """The distinct values among ascending ones, and how often each is there."""
    starts = np.flatnonzero(
        np.concatenate([np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]])
    )
    return keys[starts], np.diff(starts, append=len(keys))


def merged(
    keys: Keys, counts: Counts, other_keys: Keys, other_counts: Counts
) -> tuple[Keys, Counts]:
    """Two counts as one; keys ascending in each."""
    if not len(keys) or not len(other_keys):
        return (keys, counts) if len(keys) else (other_keys, other_counts)
    all_keys = np.empty(len(keys) + len(other_keys), np.uint64)
    all_counts = np.empty(len(all_keys), np.int64)
    number = _merge(keys, counts, other_keys, other_counts, all_keys, all_counts)
    return all_keys[:number].copy(), all_counts[:number].copy()


def mask_of(num_bytes: int) -> np.uint64:
    """The lowest bytes of a key, all ones."""
    return np.uint64((1 << 8 * num_bytes) - 1)


def _drop_rarest(keys: Keys, counts: Counts, max_ngrams: int) -> tuple[Keys, Counts, int]:
    """Without the rarest, all of a count or none, so that half the room is free again.

    If all are equally rare, every second one is dropped.
    """
    ordered = np.sort(counts)
    keep = counts > ordered[len(ordered) - max(1, max_ngrams // 2) - 1]
    if not keep.any():
        keep[::2] = True
    return keys[keep], counts[keep], int(counts[~keep].sum())


@compiled
def _ngrams_of(text: Bytes, offsets: Offsets, first: int, last: int, order: int, out: Keys) -> None:
    """The n-grams that end at the bytes from `first` to `last` of a block's buffer."""
    every = ~np.uint64(0) >> np.uint64(64 - 8 * order)
    number = np.uint64(0)
    for document in range(len(offsets) - 1):
        start, end = max(offsets[document], first), min(offsets[document + 1], last)
        key = np.uint64(0)
        if start >= end:
            continue
        for at in range(max(offsets[document], start - order + 1), start):
            key = key << np.uint64(8) | np.uint64(text[at])
        for at in range(start, end):
            key = (key << np.uint64(8) | np.uint64(text[at])) & every
            out[number] = key
            number += np.uint64(1)


@compiled
def _merge(
    a: Keys, a_counts: Counts, b: Keys, b_counts: Counts, keys: Keys, counts: Counts
) -> np.uint64:
    one = np.uint64(1)
    i = j = number = np.uint64(0)
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and a[i] < b[j]):
            keys[number], counts[number] = a[i], a_counts[i]
            i += one
        elif i == len(a) or b[j] < a[i]:
            keys[number], counts[number] = b[j], b_counts[j]
            j += one
        else:
            keys[number], counts[number] = a[i], a_counts[i] + b_counts[j]
            i += one
            j += one
        number += one
    return number
