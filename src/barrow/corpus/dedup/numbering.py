"""Documents of many parts under one numbering, and their order of preference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save

from barrow.corpus.build.facts import load_columns
from barrow.corpus.build.parts import Examined
from barrow.corpus.dedup.candidates import Numbers
from barrow.corpus.dedup.settings import Deduplication
from barrow.engine import File
from barrow.files import write_part

Arrays = dict[str, npt.NDArray[Any]]

SAME_URL = "same-url"
_RANKED = ("size", "quality", "domain", "identity")


def save_arrays(path: str | PathLike[str], **arrays: npt.NDArray[Any]) -> None:
    """Write arrays under their names."""
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    write_part(Path(path), data)


def load_arrays(path: str | PathLike[str]) -> Arrays:
    """Arrays by their names."""
    arrays: Arrays = load_file(path)
    return arrays


@dataclass(frozen=True)
class Removals:
    """Files of removed documents; near-duplicates come with the clusters of all in some pair."""

    duplicates: tuple[File, ...] = ()
    near_duplicates: File | None = None
    same_url: tuple[File, ...] = ()

    def __iter__(self) -> Iterator[tuple[str, Arrays]]:
        """The reason, and the arrays, of each file."""
        for file in self.same_url:
            yield SAME_URL, load_arrays(file)
        for file in self.duplicates:
            yield "duplicate", load_arrays(file)
        if self.near_duplicates is not None:
            yield "near-duplicate", load_arrays(self.near_duplicates)

    def flags(self, num_documents: int) -> npt.NDArray[np.bool_]:
        """Which of all documents were removed."""
        flags = np.zeros(num_documents, np.bool_)
        for _, arrays in self:
            flags[arrays["removed"]] = True
        return flags

    def clusters(self) -> Arrays | None:
        """The name of the cluster of every document that is in one."""
        return None if self.near_duplicates is None else load_arrays(self.near_duplicates)


def removal_cause(reason: str, similarity: float, name: str) -> str:
    """Why a document was removed, in words that end with the id of the one that stays."""
    return f"at the URL of {name}" if reason == SAME_URL else f"{similarity:.3f} like {name}"


@dataclass(frozen=True)
class Order:
    """What numbers and preference depend on: the sizes of parts and the names of their domains.

    The parts from `num_own` on are those of finished corpora, which do not change.
    """

    sizes: tuple[int, ...]
    domains: tuple[tuple[str, ...], ...]
    num_own: int
    keep: str
    prefer: tuple[str, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[Examined], num_own: int, settings: Deduplication) -> Order:
        """The order of some parts."""
        return cls(
            sizes=tuple(map(len, parts)),
            domains=tuple(part.domains for part in parts),
            num_own=num_own,
            keep=settings.keep,
            prefer=settings.prefer,
        )


class Parts:
    """Facts files, one after the other; document i of part k has the number ``offsets[k] + i``."""

    def __init__(self, files: Sequence[File], order: Order) -> None:
        self.files = files
        self.offsets = np.cumsum([0, *order.sizes], dtype=np.int64)
        self.first_known = int(self.offsets[order.num_own])
        self._order = order

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def rank_columns(self, k: int, rows: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Sort keys of the documents of part k, the most important last, as for `lexsort`."""
        columns = load_columns(self.files[k], _RANKED)
        identity = columns["identity"][rows]
        known = np.full(len(identity), int(self.offsets[k] < self.first_known), np.int64)
        return [identity[:, 1], identity[:, 0], self._policy(k, columns)[rows], known]

    def _policy(self, k: int, columns: Arrays) -> npt.NDArray[np.float64]:
        if self._order.keep == "longest":
            return -columns["size"].astype(np.float64)
        if self._order.keep == "quality":
            return -columns["quality"].astype(np.float64)
        names, prefer = self._order.domains[k], self._order.prefer
        order = [prefer.index(name) if name in prefer else len(prefer) for name in names]
        return np.array([*order, len(prefer)], np.float64)[columns["domain"]]

    def ranks(self, numbers: Numbers) -> Numbers:
        """The order of preference of some documents, given in ascending order: 0 is the best."""
        ends = np.searchsorted(numbers, self.offsets)
        columns = [
            self.rank_columns(k, numbers[start:stop] - self.offsets[k])
            for k, (start, stop) in enumerate(itertools.pairwise(ends))
            if stop > start
        ]
        keys = [np.concatenate(column) for column in zip(*columns, strict=True)]
        ranks = np.empty(len(numbers), np.int64)
        ranks[np.lexsort(keys)] = np.arange(len(numbers))
        return ranks

    def identities(self, numbers: Numbers) -> npt.NDArray[np.uint64]:
        """Both halves of the ids of some documents, in any order."""
        found = np.zeros((len(numbers), 2), np.uint64)
        part = np.searchsorted(self.offsets, numbers, side="right") - 1
        for k in np.unique(part).tolist():
            here = np.flatnonzero(part == k)
            column = load_columns(self.files[k], ("identity",))["identity"]
            found[here] = column[numbers[here] - self.offsets[k]]
        return found
