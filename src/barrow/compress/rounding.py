"""Numbers as integers and scales: how scales are chosen, and GPTQ's order of rounding.

Weights are matrices [inputs, outputs] in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.compress.scheme import Method

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int8]

_PERCENTILE = 0.999
# Clipped further than this, int8 loses more than it gains.
_CLIPS = {8: np.linspace(0.8, 1.0, 21), 4: np.linspace(0.55, 1.15, 25)}
# float16's smallest number, for a group of zeros.
_SMALLEST = 2.0**-24
_DAMPING = 0.01


def scales_of(
    weight: Floats, bits: int, method: Method, *, importance: Floats | None = None
) -> Floats:
    """A scale for each output of one channel or group [inputs, outputs].

    8 bits are −127…127 and scales positive. 4 bits are −8…7, and a scale has the sign for which the
    largest number becomes −8: so all 16 integers are used. `importance` [inputs] weighs errors;
    scales of 4 bits are exact in float16.
    """
    sizes = np.abs(weight)
    largest = np.take_along_axis(weight, sizes.argmax(axis=0, keepdims=True), axis=0)[0]
    if method == "percentile":
        largest = np.sign(largest) * np.quantile(sizes, _PERCENTILE, axis=0).astype(np.float32)
    first = np.abs(largest) / 127 if bits == 8 else largest / -8
    if method in ("nearest", "percentile"):
        return _exact(first, bits)
    by = np.ones(len(weight), np.float32) if importance is None else importance
    best, least = _exact(first, bits), np.full(weight.shape[1], np.inf)
    for clip in _CLIPS[bits]:
        tried = _exact(first * clip, bits)
        error = by @ np.square(weight - rounded(weight, tried, bits) * tried)
        is_better = error < least
        best, least = np.where(is_better, tried, best), np.where(is_better, error, least)
    return best


def rounded(weight: Floats, scales: Floats, bits: int) -> Integers:
    """The nearest integers within the type."""
    low, high = (-127, 127) if bits == 8 else (-8, 7)
    return np.clip(np.rint(weight / scales), low, high).astype(np.int8)


def in_groups(
    weight: Floats,
    bits: int,
    size: int,
    method: Method,
    *,
    importance: Floats | None = None,
    hessian: Floats | None = None,
) -> tuple[Integers, Floats]:
    """Integers [groups, size, outputs] and scales [groups, outputs]; zeros fill the last group.

    With `hessian` [inputs, inputs], the sum of x·xᵀ, the error of rounding an input's weights is
    made up for by the inputs after it (GPTQ).
    """
    num, outputs = weight.shape
    spread = None if hessian is None else _spread(hessian)
    left = np.array(weight, np.float32)
    if hessian is not None:
        left[np.diag(hessian) == 0] = 0
    count = -(-num // size)
    integers = np.zeros((count, size, outputs), np.int8)
    scales = np.empty((count, outputs), np.float32)
    for group in range(count):
        start, stop = group * size, min((group + 1) * size, num)
        block = left[start:stop]
        by = None if importance is None else importance[start:stop]
        scales[group] = scales_of(block, bits, method, importance=by)
        if spread is None:
            integers[group, : stop - start] = rounded(block, scales[group], bits)
            continue
        errors = np.empty_like(block)
        for i in range(stop - start):
            at = start + i
            integers[group, i] = rounded(block[i], scales[group], bits)
            errors[i] = (block[i] - integers[group, i] * scales[group]) / spread[at, at]
            block[i + 1 :] -= np.outer(spread[at, at + 1 : stop], errors[i])
        left[stop:] -= spread[start:stop, stop:].T @ errors
    return integers, scales


def _spread(hessian: Floats) -> Floats:
    """The upper Cholesky factor of the inverse, with a little added to the diagonal."""
    wide = hessian.astype(np.float64)
    diagonal = np.diag(wide)
    unused = diagonal == 0
    mean = diagonal.mean() or 1.0
    wide = wide + np.diag(np.where(unused, mean, _DAMPING * mean))
    factor: Floats = np.linalg.cholesky(np.linalg.inv(wide)).T.astype(np.float32)
    return factor


def _exact(scales: Floats, bits: int) -> Floats:
    """Not 0, and of 4 bits what float16 stores: rounding then sees the scales that are used."""
    if bits == 4:
        scales = scales.astype(np.float16).astype(np.float32)
    found: Floats = np.where(np.abs(scales) < _SMALLEST, _SMALLEST, scales).astype(np.float32)
    return found
