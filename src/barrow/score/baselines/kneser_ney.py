"""Interpolated, modified Kneser–Ney over bytes: probabilities out of the counts of n-grams.

    p(w | c) = (a(cw) − D(a(cw))) / A(c) + g(c) · p(w | c without its first byte)

a(cw) is how often cw occurs for the longest contexts, and for shorter ones in how many different
n-grams, one byte longer, it is the end. A(c) = Σ a(cw); D takes something off every count, by three
discounts of each order (Chen and Goodman, 1999), and g(c) = Σ D(a(cw)) / A(c) gives it to shorter
contexts, down to the uniform 1/256. So the 256 probabilities of any context sum to 1. A context
that was never seen has those of the next shorter one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import finish_hash
from barrow.score.baselines.ngram_counts import (
    Bytes,
    Counts,
    Keys,
    NgramCounts,
    mask_of,
    run_lengths,
)

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.uint64]

# Where an order has too few n-grams to estimate discounts from; as KenLM has them.
_FALLBACK = (0.5, 1.0, 1.5)
_UNIFORM = 1 / 256


@dataclass(frozen=True, eq=False)
class NgramTables:
    """p(w | c) of n-grams that were seen, and g(c) of contexts that were, of every order.

    Open-addressing tables, one after another: that of probabilities of order k has the slots from
    ``begins[2k − 2]`` to ``begins[2k − 1]``, that of its contexts those after it. A slot whose
    value is 0 is empty.
    """

    order: int
    slots: Keys
    values: Floats
    begins: Places
    num_values: int


def ngram_tables(counts: NgramCounts) -> NgramTables:
    """The tables for looking up probabilities."""
    if not len(counts.keys):
        raise ValueError("there is no text to train an n-gram model on")
    orders = list(_orders(counts))
    sizes = [len(each) for keys, _ in orders for each in (keys, _starts(keys))]
    rooms = [1 << (4 * size // 3).bit_length() for size in sizes]  # at most 3/4 full
    begins = np.cumsum([0, *rooms]).astype(np.uint64)
    slots, values = np.zeros(sum(rooms), np.uint64), np.zeros(sum(rooms))
    for number, (keys, occurrences) in enumerate(orders):
        starts = _starts(keys)
        totals = np.add.reduceat(occurrences, starts).astype(np.float64)
        taken = np.array((0.0, *discounts(occurrences)))[np.minimum(occurrences, 3)]
        given = np.add.reduceat(taken, starts) / totals
        lengths = np.diff(starts, append=len(keys))
        shorter = np.full(len(keys), _UNIFORM)
        if number:
            _find_all(keys & mask_of(number), number, slots, values, begins, shorter)
        own = (occurrences - taken) / np.repeat(totals, lengths)
        table, contexts = 2 * number, 2 * number + 1
        _fill(keys, own + np.repeat(given, lengths) * shorter, table, slots, values, begins)
        _fill(keys[starts] >> np.uint64(8), given, contexts, slots, values, begins)
    return NgramTables(counts.order, slots, values, begins, sum(sizes))


def discounts(counts: Counts) -> tuple[float, float, float]:
    """What is taken off counts of 1, of 2, and of 3 and more, in one order."""
    ones, twos, threes, fours = (int(np.count_nonzero(counts == k)) for k in (1, 2, 3, 4))
    if not ones or not twos or not threes:
        return _FALLBACK
    share = ones / (ones + 2 * twos)
    found = (
        1 - 2 * share * twos / ones,
        2 - 3 * share * threes / twos,
        3 - 4 * share * fours / threes,
    )
    # Unnatural counts can give discounts ≤ 0.
    return found if all(0 < value <= k + 1 for k, value in enumerate(found)) else _FALLBACK


def _orders(counts: NgramCounts) -> list[tuple[Keys, Counts]]:
    """Keys and a(cw) from the shortest n-grams to the longest."""
    keys, occurrences = counts.keys, counts.counts
    orders = [(keys, occurrences)]
    for length in range(counts.order - 1, 0, -1):
        keys, occurrences = run_lengths(np.sort(keys & mask_of(length)))
        orders.append((keys, occurrences))
    return orders[::-1]


def _starts(keys: Keys) -> npt.NDArray[np.int64]:
    """Where each context's n-grams begin."""
    contexts = keys >> np.uint64(8)
    return np.flatnonzero(np.concatenate([[True], contexts[1:] != contexts[:-1]]))


@compiled
def _place(key: np.uint64, table: int, slots: Keys, values: Floats, begins: Places) -> Any:
    """The slot that has a key, or the empty one where it would be."""
    begin = begins[table]
    mask = begins[table + 1] - begin - np.uint64(1)
    at = finish_hash(key) & mask
    while values[begin + at] != 0 and slots[begin + at] != key:
        at = (at + np.uint64(1)) & mask
    return begin + at


@compiled
def _fill(
    keys: Keys, numbers: Floats, table: int, slots: Keys, values: Floats, begins: Places
) -> None:
    for i in range(len(keys)):
        at = _place(keys[i], table, slots, values, begins)
        slots[at], values[at] = keys[i], numbers[i]


@compiled
def _find_all(
    keys: Keys, order: int, slots: Keys, values: Floats, begins: Places, out: Floats
) -> None:
    for i in range(len(keys)):
        out[i] = values[_place(keys[i], 2 * order - 2, slots, values, begins)]


@compiled
def probability(key: np.uint64, order: int, slots: Keys, values: Floats, begins: Places) -> Any:
    """Of the lowest byte of a key, given the bytes above it."""
    weight = 1.0
    for length in range(order, 0, -1):
        part = key & (~np.uint64(0) >> np.uint64(64 - 8 * length))
        value = values[_place(part, 2 * length - 2, slots, values, begins)]
        if value != 0:
            return weight * value
        passed_on = values[_place(part >> np.uint64(8), 2 * length - 1, slots, values, begins)]
        if passed_on != 0:
            weight *= passed_on
    return weight * _UNIFORM


@compiled
def text_nats(
    text: Bytes, order: int, slots: Keys, values: Floats, begins: Places, out: Floats
) -> None:
    """−log p of every byte of a document."""
    every = ~np.uint64(0) >> np.uint64(64 - 8 * order)
    key = np.uint64(0)
    for at in range(len(text)):
        key = (key << np.uint64(8) | np.uint64(text[at])) & every
        out[at] = -np.log(probability(key, order, slots, values, begins))


def distribution(tables: NgramTables, context: bytes) -> Floats:
    """The 256 probabilities of the byte after the last ones of a document."""
    last = context[len(context) - min(len(context), tables.order - 1) :]
    above = np.uint64(int.from_bytes(last, "big") << 8)
    return np.array(
        [
            probability(
                above | np.uint64(byte), tables.order, tables.slots, tables.values, tables.begins
            )
            for byte in range(256)
        ]
    )
