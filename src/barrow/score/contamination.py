"""The contamination receipt: how much of the scored text is in a training corpus.

It counts runs of 13 words that both have, compared by `barrow.corpus.kernels.word_runs`, like
decontamination. A document is contaminated if one such run is in the training corpus; `share` is
the share of all runs of 13 words of the scored documents, of those that begin after a blank. A
document with fewer than 13 words has no run, and cannot be found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from barrow.archive import Block
from barrow.corpus.build.decontaminate import NGRAM
from barrow.corpus.kernels.word_runs import after_blanks, find_runs, places_of, run_table, runs_of

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
    """How much of `documents` (domain and text) is in a training corpus called `name`.

    `train` gives the corpus from its beginning, as ``archive.blocks`` does: it is read once for
    every `group_bytes` of scored text, which bounds the memory (about 8 bytes for each of these).
    """
    tally = _Tally()
    domains: set[str] = set()
    for group in _groups(documents, group_bytes):
        domains |= {domain for domain, _ in group}
        runs, offsets = runs_of([text for _, text in group], ngram)
        table, rows = run_table(runs)
        found = np.zeros(len(table.keys), np.bool_)
        for block in train():
            found[find_runs(block.text, block.offsets, table).run] = True
        shared, places, whole = found[rows], places_of(runs), after_blanks(runs)
        for k, (domain, _) in enumerate(group):
            here = slice(offsets[k], offsets[k + 1])
            tally.documents[domain] += bool(shared[here].any())
            tally.shared[domain] += len(np.unique(places[here][(shared & whole)[here]]))
            tally.runs[domain] += len(np.unique(places[here][whole[here]]))
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


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
