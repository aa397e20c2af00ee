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
# Inputs of GPTQ whose errors reach the others together.
_BLOCK = 128


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

    With `hessian` [inputs, inputs], the sum of x·xᵀ, inputs are rounded one after another, the
    largest first, and the error of each is made up for by those that follow (GPTQ with activation
    order). Scales are chosen before that, so that a group is of neighbours.
    """
    num, outputs = weight.shape
    left = np.array(weight, np.float32)
    if hessian is not None:
        left[np.diag(hessian) == 0] = 0
    count = -(-num // size)
    scales = np.empty((count, outputs), np.float32)
    for group in range(count):
        part = slice(group * size, (group + 1) * size)
        by = None if importance is None else importance[part]
        scales[group] = scales_of(left[part], bits, method, importance=by)
    integers = np.zeros((count * size, outputs), np.int8)
    each = np.repeat(scales, size, axis=0)[:num]
    if hessian is None:
        integers[:num] = rounded(left, each, bits)
    else:
        order = np.argsort(-np.diag(hessian), kind="stable")
        integers[order] = _in_turn(left[order], each[order], bits, hessian[np.ix_(order, order)])
    return integers.reshape(count, size, outputs), scales


def _in_turn(left: Floats, scales: Floats, bits: int, hessian: Floats) -> Integers:
    """GPTQ's rounding of inputs [inputs, outputs] in their order; those after a block wait."""
    spread = _spread(hessian)
    integers = np.empty(left.shape, np.int8)
    for start in range(0, len(left), _BLOCK):
        stop = min(start + _BLOCK, len(left))
        errors = np.empty((stop - start, left.shape[1]), np.float32)
        for at in range(start, stop):
            integers[at] = rounded(left[at], scales[at], bits)
            error = (left[at] - integers[at] * scales[at]) / spread[at, at]
            left[at + 1 : stop] -= np.outer(spread[at, at + 1 : stop], error)
            errors[at - start] = error
        left[stop:] -= spread[start:stop, stop:].T @ errors
    return integers


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
