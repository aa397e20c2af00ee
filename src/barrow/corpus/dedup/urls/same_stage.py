"""Which of the documents with the same URL stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from barrow.corpus.build.facts import load_columns
from barrow.corpus.dedup.copies_stage import Copies, save_copies
from barrow.corpus.dedup.numbering import Order, Parts, load_arrays
from barrow.engine import File, Stage


@dataclass(frozen=True)
class Settings:
    """The documents whose page falls into one partition of all; which of them stays."""

    order: Order
    partition: int
    of: int
    keep: Literal["newest", "longest"]


@dataclass(frozen=True)
class Inputs:
    """Facts and pages of all parts."""

    facts: tuple[File, ...]
    pages: tuple[File, ...]


def find_same(settings: Settings, inputs: Inputs, out: Copies) -> None:
    """Find all documents whose URL a document before them has; finished corpora come first."""
    parts = Parts(inputs.facts, settings.order)
    numbers, keys = [], []
    for k, (facts, file) in enumerate(zip(inputs.facts, inputs.pages, strict=True)):
        pages, columns = load_arrays(file), load_columns(facts, ("kept", "size"))
        page = pages["page"]
        mine = columns["kept"] & page.any(axis=1) & (page[:, 0] % settings.of == settings.partition)
        rows = np.flatnonzero(mine)
        value = pages["moment"] if settings.keep == "newest" else columns["size"]
        *identity, _, known = parts.rank_columns(k, rows)
        numbers.append(rows + parts.offsets[k])
        keys.append([*identity, -value[rows], known, page[rows, 1], page[rows, 0]])
    save_copies(out, parts, numbers, keys)


SAME = Stage("corpus.same_url", 1, find_same, Copies)
