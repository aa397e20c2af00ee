"""Documents of many parts under one numbering, and their order of preference."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.array_files import load_file, save_file
from barrow.corpus.dedup.candidates import Numbers
from barrow.corpus.facts import load_columns

Arrays = dict[str, npt.NDArray[Any]]

_RANKED = ("size", "quality", "domain", "identity")


def save_arrays(path: Path, **arrays: npt.NDArray[Any]) -> None:
    """Write arrays under their names."""
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def load_arrays(path: str | Path) -> Arrays:
    """Arrays by their names."""
    arrays: Arrays = load_file(path)
    return arrays


def removed_flags(num_documents: int, removals: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which documents some files of removals name."""
    flags = np.zeros(num_documents, np.bool_)
    for path in removals:
        flags[load_arrays(path)["removed"]] = True
    return flags


class Parts:
    """Facts files, one after the other; document i of part k has the number ``offsets[k] + i``.

    The parts from `num_own` on are known: of corpora that are finished, and stay as they are.
    """

    def __init__(self, files: Sequence[str], settings: Mapping[str, Any]) -> None:
        self.sizes: list[int] = settings["sizes"]
        self.files = files[: len(self.sizes)]
        self.offsets = np.cumsum([0, *self.sizes], dtype=np.int64)
        self.first_known = int(self.offsets[settings["num_own"]])
        self._settings = settings

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def rank_columns(self, k: int, rows: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Keys to sort documents of part k by, the most important last, as `lexsort` has them."""
        columns = load_columns(self.files[k], _RANKED)
        identity = columns["identity"][rows]
        known = np.full(len(identity), int(self.offsets[k] < self.first_known), np.int64)
        return [identity[:, 1], identity[:, 0], self._policy(k, columns)[rows], known]

    def _policy(self, k: int, columns: Arrays) -> npt.NDArray[np.float64]:
        if self._settings["keep"] == "longest":
            return -columns["size"].astype(np.float64)
        if self._settings["keep"] == "quality":
            return -columns["quality"].astype(np.float64)
        names, prefer = self._settings["domains"][k], self._settings["prefer"]
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
