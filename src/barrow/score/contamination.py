"""The contamination receipt: how much of what is scored a training corpus has too.

13 words in a row that both have, as `barrow.corpus.decontaminate` finds them: wrapping, case,
punctuation, accents and Unicode forms make no difference. A document is contaminated if one such
run is in the training corpus; `share` is the share of all runs of 13 words of the scored documents.
A document with fewer than 13 words has none, and cannot be found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from barrow.archive import Block
from barrow.corpus.decontaminate import (
    NGRAM,
    Item,
    NgramIndex,
    mark_found,
    ngram_hashes,
    ngram_index,
    readings,
    slots_of,
)
from barrow.corpus.scratch import Scratch
from barrow.corpus.word_hashes import word_hashes

GROUP_BYTES = 1 << 26


@dataclass(eq=False)
class _Tally:
    """By domain: documents that share a run with the corpus, runs that are shared, all runs."""

    documents: Counter[str] = field(default_factory=Counter)
    shared: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)


def contamination(
    documents: Iterable[tuple[str, str]],
    train: Callable[[], Iterable[Block]],
    *,
    name: str,
    ngram: int = NGRAM,
    group_bytes: int = GROUP_BYTES,
) -> dict[str, Any]:
    """What of `documents` (domain and text) is in a training corpus called `name`.

    `train` gives the corpus from its beginning, as ``archive.blocks`` does: it is read once for
    every `group_bytes` of scored text, which bounds the memory (about 8 bytes for each of these).
    """
    tally = _Tally()
    domains: set[str] = set()
    scratch = Scratch()
    for group in _groups(documents, group_bytes):
        domains |= {domain for domain, _ in group}
        index = ngram_index((Item(d, i, text) for i, (d, text) in enumerate(group)), ngram=ngram)
        found = np.zeros(len(index.slots), np.bool_)
        for block in train():
            mark_found(word_hashes(block.text, block.offsets, scratch), index, found)
        for domain, text in group:
            _count(tally, domain, text, index, found, scratch)
    return {
        "ngram": ngram,
        "train": name,
        "domains": {
            domain: {
                "documents": tally.documents[domain],
                "share": _ratio(tally.shared[domain], tally.runs[domain]),
            }
            for domain in sorted(domains)
        },
        "documents": tally.documents.total(),
        "share": _ratio(tally.shared.total(), tally.runs.total()),
    }


def _groups(
    documents: Iterable[tuple[str, str]], group_bytes: int
) -> Iterator[list[tuple[str, str]]]:
    group: list[tuple[str, str]] = []
    size = 0
    for domain, text in documents:
        group.append((domain, text))
        size += len(text)
        if size >= group_bytes:
            yield group
            group, size = [], 0
    if group:
        yield group


def _count(
    tally: _Tally,
    domain: str,
    text: str,
    index: NgramIndex,
    found: np.ndarray[Any, np.dtype[np.bool_]],
    scratch: Scratch,
) -> None:
    """Of the two readings of a text, with and without marks inside words, the one more shared."""
    counts = []
    for reading in readings(text):
        slots = slots_of(ngram_hashes(reading, index.ngram, scratch), index)
        # Every run of the text is in the index, which was made of it.
        counts.append((int(found[slots].sum()), len(slots)))
    shared, runs = max(counts, key=lambda pair: _ratio(*pair))
    tally.documents[domain] += shared > 0
    tally.shared[domain] += shared
    tally.runs[domain] += runs


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
