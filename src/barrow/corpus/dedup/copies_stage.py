"""Exact duplicates: documents whose content hashes are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.build.facts import load_columns
from barrow.corpus.dedup.numbering import Order, Parts, save_arrays
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """The documents whose hash falls into one partition of all hashes: memory is bounded."""

    order: Order
    partition: int
    of: int


class Copies(Outputs):
    """Numbers of removed documents, and for each the id of the kept one."""

    removed = Output("removed.safetensors")


def find_copies(settings: Settings, facts: tuple[File, ...], out: Copies) -> None:
    """Find all documents that are copies of one before them in the order of preference."""
    parts = Parts(facts, settings.order)
    numbers, keys = [], []
    for k, file in enumerate(parts.files):
        columns = load_columns(file, ("kept", "content"))
        content = columns["content"]
        mine = columns["kept"] & (content[:, 0] % settings.of == settings.partition)
        rows = np.flatnonzero(mine)
        numbers.append(rows + parts.offsets[k])
        keys.append([*parts.rank_columns(k, rows), content[rows, 1], content[rows, 0]])
    number = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
    joined = [np.concatenate(column) for column in zip(*keys, strict=True)]
    order = np.lexsort(joined) if len(number) else np.empty(0, np.int64)
    first, second = joined[-1][order], joined[-2][order]
    is_copy = np.r_[False, (first[1:] == first[:-1]) & (second[1:] == second[:-1])][: len(order)]
    # The first document of a run is kept.
    leader = np.maximum.accumulate(np.where(is_copy, 0, np.arange(len(order))))
    copies = number[order][is_copy]
    leaders = number[order][leader][is_copy]
    own = copies < parts.first_known
    save_arrays(
        out.removed,
        removed=copies[own],
        of_identity=parts.identities(leaders[own]),
        similarity=np.ones(int(own.sum()), np.float64),
    )


COPIES = Stage("corpus.copies", 1, find_copies, Copies)
