"""Hashes of many parts in sorted buckets, so that a task can read one range from all parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from barrow.corpus.kernels.word_hashes import Hashes

Bounds = npt.NDArray[np.int64]

NUM_BUCKETS = 1 << 12
_SHIFT = np.uint64(64 - 12)


def bucket_bounds(hashes: Hashes) -> Bounds:
    """Bounds of buckets: sorted hashes ``bounds[b]`` to ``bounds[b + 1]`` are in bucket b."""
    numbers = np.arange(NUM_BUCKETS + 1, dtype=np.uint64)
    return np.searchsorted(hashes >> _SHIFT, numbers).astype(np.int64)


def share_out(files: Iterable[PathLike[str]], most: int) -> list[tuple[int, int]]:
    """Ranges of buckets with about `most` hashes in all files together."""
    sizes = np.zeros(NUM_BUCKETS, np.int64)
    for path in files:
        sizes += np.diff(load_slice(path, "bounds"))
    task = np.cumsum(sizes) // most
    starts = np.flatnonzero(np.r_[True, task[1:] != task[:-1]]).tolist()
    return list(zip(starts, [*starts[1:], NUM_BUCKETS], strict=True))


def load_slice(
    path: str | PathLike[str], name: str, start: int = 0, stop: int | None = None
) -> npt.NDArray[Any]:
    """A slice of an array in a file; only its bytes are read."""
    with safe_open(path, "numpy") as file:
        view = file.get_slice(name)
        size = view.get_shape()[0]
        stop = size if stop is None else stop
        array: npt.NDArray[Any]
        if start < stop:
            array = view[start:stop]
        else:  # safetensors has no empty slices
            array = (view[:1] if size else file.get_tensor(name))[:0]
    return array


def load_buckets(
    path: str | PathLike[str], buckets: Sequence[int], names: Iterable[str]
) -> tuple[int, dict[str, npt.NDArray[Any]]]:
    """The slices of a file's arrays for a range of buckets, and where they begin."""
    first, last = buckets
    bounds = load_slice(path, "bounds", first, last + 1)
    start, stop = int(bounds[0]), int(bounds[-1])
    return start, {name: load_slice(path, name, start, stop) for name in names}


def load_part(path: str | PathLike[str], name: str, part: int) -> npt.NDArray[Any]:
    """The entries of one part in a file about all parts."""
    start, stop = load_slice(path, "bounds", part, part + 2).tolist()
    return load_slice(path, name, start, stop)
