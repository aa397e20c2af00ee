"""How many of the words that any prose has occur in a text."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from barrow.corpus.compiled import compiled
from barrow.corpus.filters.character_counts import Counts
from barrow.corpus.filters.spaced_words import SpacedWords, spaced_words
from barrow.corpus.scratch import Scratch
from barrow.corpus.word_hashes import Hashes, Offsets


def num_stop_words(words: SpacedWords, stop_words: tuple[str, ...], enough: int) -> Counts:
    """How many different stop words each text has; counting ends at `enough`."""
    found = np.zeros(len(words.offsets) - 1, np.int64)
    table = _table(stop_words)
    last_seen = np.full(len(table), -1, np.int64)
    _search(words.hashes, words.offsets, table, enough, last_seen, found)
    return found


@cache
def _table(stop_words: tuple[str, ...]) -> Hashes:
    data = " ".join(stop_words).encode()
    hashes = spaced_words(np.frombuffer(data, np.uint8), np.array([0, len(data)]), Scratch()).hashes
    table = np.zeros(1 << (4 * len(hashes)).bit_length(), np.uint64)
    for value in hashes.tolist():
        place = value & (len(table) - 1)
        while table[place] not in (0, value):
            place = (place + 1) & (len(table) - 1)
        table[place] = value
    return table


@compiled
def _search(
    hashes: Hashes,
    offsets: Offsets,
    table: Hashes,
    enough: int,
    last_seen: npt.NDArray[np.int64],
    found: npt.NDArray[np.int64],
) -> None:
    one, mask = np.uint64(1), np.uint64(len(table) - 1)
    for document in range(len(offsets) - 1):
        for at in range(np.uint64(offsets[document]), np.uint64(offsets[document + 1])):
            place = hashes[at] & mask
            while table[place] != 0 and table[place] != hashes[at]:
                place = (place + one) & mask
            if table[place] != 0 and last_seen[place] != document:
                last_seen[place] = document
                found[document] += 1
                if found[document] >= enough:
                    break
