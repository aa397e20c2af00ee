"""Exact duplicates: documents whose content hashes are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.build.facts import load_columns
from barrow.corpus.dedup.numbering import Order, Parts, Removals, save_arrays
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """The documents whose hash falls into one partition of all hashes: memory is bounded."""

    order: Order
    partition: int
    of: int


@dataclass(frozen=True)
class Inputs:
    """Facts of all parts, and the documents already removed."""

    facts: tuple[File, ...]
    removals: Removals


class Copies(Outputs):
    """Numbers of removed documents, and for each the id of the kept one."""

    removed = Output("removed.safetensors")


def find_copies(settings: Settings, inputs: Inputs, out: Copies) -> None:
    """Find all documents that are copies of one before them in the order of preference."""
    parts = Parts(inputs.facts, settings.order)
    removed = inputs.removals.flags(len(parts))
    numbers, keys = [], []
    for k, file in enumerate(parts.files):
        columns = load_columns(file, ("kept", "content"))
        content = columns["content"]
        stays = columns["kept"] & ~removed[parts.offsets[k] : parts.offsets[k + 1]]
        mine = stays & (content[:, 0] % settings.of == settings.partition)
        rows = np.flatnonzero(mine)
        numbers.append(rows + parts.offsets[k])
        keys.append([*parts.rank_columns(k, rows), content[rows, 1], content[rows, 0]])
    save_copies(out, parts, numbers, keys)


def save_copies(
    out: Copies,
    parts: Parts,
    numbers: Sequence[npt.NDArray[np.int64]],
    keys: Sequence[Sequence[npt.NDArray[Any]]],
) -> None:
    """Write the documents that another one comes before; by part, their numbers and sort keys.

    The last two keys are the halves of a hash that copies share; the others are the order.
    """
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
