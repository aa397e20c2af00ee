"""How two checkpoints differ, leaf by leaf."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from barrow.weights.tensors import Array, Tensors

_CHUNK = 1 << 22


@dataclass(frozen=True)
class LeafDifference:
    """A leaf of the first, of the second, or of both, where they are not the same bits.

    `max_abs` is the largest |a − b|; `relative` is ‖a − b‖ / ‖a‖, in float64. Both are None where a
    leaf is in one only, or the shapes differ; NaNs at the same places are equal.
    """

    path: str
    first: str | None
    second: str | None
    max_abs: float | None = None
    relative: float | None = None


def differences(first: Tensors, second: Tensors) -> Iterator[LeafDifference]:
    """Leaves that differ, in the order of the first, then those of the second alone."""
    for path in first:
        kind = _kind(first, path)
        if path not in second:
            yield LeafDifference(path, kind, None)
        elif first.entry(path).shape != second.entry(path).shape:
            yield LeafDifference(path, kind, _kind(second, path))
        else:
            other = _kind(second, path)
            a, b = first[path].reshape(-1), second[path].reshape(-1)
            if kind != other or not _same_bits(a, b):
                yield LeafDifference(path, kind, other, *_measured(a, b))
    for path in second:
        if path not in first:
            yield LeafDifference(path, None, _kind(second, path))


def _kind(tensors: Tensors, path: str) -> str:
    entry = tensors.entry(path)
    return f"{entry.dtype.name}{list(entry.shape)}"


def _same_bits(a: Array, b: Array) -> bool:
    return all(
        a[i : i + _CHUNK].tobytes() == b[i : i + _CHUNK].tobytes() for i in range(0, a.size, _CHUNK)
    )


def _measured(a: Array, b: Array) -> tuple[float, float]:
    largest = squares = norm = 0.0
    for i in range(0, a.size, _CHUNK):
        left, right = _wide(a[i : i + _CHUNK]), _wide(b[i : i + _CHUNK])
        with np.errstate(invalid="ignore"):
            apart = np.abs(left - right)
        apart[(left == right) | (np.isnan(left) & np.isnan(right))] = 0
        largest = float(np.maximum(largest, np.max(apart, initial=0.0)))
        squares += float(np.sum(apart * apart))
        norm += float(np.sum(np.abs(left) ** 2))
    if squares == 0:
        return largest, 0.0
    return largest, math.sqrt(squares) / math.sqrt(norm) if norm > 0 else math.inf


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
