"""DEEPSPEED-4: scales and rounding."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.compress import rounding
from barrow.compress.rounding import in_groups, rounded, scales_of

RNG = np.random.default_rng(0)


def error(weight: np.ndarray, found: np.ndarray, hessian: np.ndarray) -> float:
    """What the output of a product differs by, squared and summed."""
    lost = (weight - found).astype(np.float64)
    return float(np.einsum("io,ij,jo->", lost, hessian, lost))


def wide(integers: np.ndarray, scales: np.ndarray, num: int) -> np.ndarray:
    return (integers * scales[:, None]).reshape(-1, scales.shape[-1])[:num]


@pytest.mark.parametrize("bits", [8, 4])
def test_nearest_puts_the_largest_on_the_last_integer(bits: int) -> None:
    weight = RNG.normal(size=(40, 7)).astype(np.float32)
    scales = scales_of(weight, bits, "nearest")
    integers = rounded(weight, scales, bits)
    at = np.abs(weight).argmax(axis=0)
    expected = 127 if bits == 8 else 8
    assert (np.abs(integers[at, np.arange(7)]) == expected).all()
    # 8 bits are within half a step; of 4 bits, +8 does not exist.
    lost = np.abs(weight - integers * scales) / np.abs(scales)
    assert lost.max() <= (0.5001 if bits == 8 else 1.0001)


@pytest.mark.parametrize("bits", [8, 4])
def test_mse_is_the_least_error_by_importance(bits: int) -> None:
    weight = RNG.standard_t(3, size=(64, 9)).astype(np.float32)
    importance = RNG.uniform(0, 10, 64).astype(np.float32)
    weight[5] *= 4  # large, and multiplied with nothing: worth clipping
    importance[5] = 0

    def lost(method: str, **by: np.ndarray) -> np.ndarray:
        scales = scales_of(weight, bits, method, **by)  # type: ignore[arg-type]
        return importance @ np.square(weight - rounded(weight, scales, bits) * scales)

    best = lost("mse", importance=importance)
    assert (best <= lost("nearest") + 1e-6).all()
    assert best.sum() < 0.9 * lost("nearest").sum()
    assert best.sum() < lost("percentile").sum()


def test_percentile_clips_one_number_of_a_thousand() -> None:
    weight = RNG.permuted(np.arange(1, 1001, dtype=np.float32)[:, None].repeat(3, 1), axis=0)
    weight[0] = 1e6
    found = scales_of(weight, 8, "percentile")
    np.testing.assert_allclose(found, np.percentile(weight, 99.9, axis=0) / 127, rtol=1e-5)
    assert (rounded(weight, found, 8)[0] == 127).all()


def test_a_channel_of_zeros_stays_zero() -> None:
    weight = np.zeros((8, 2), np.float32)
    for bits in (8, 4):
        for method in ("nearest", "mse", "percentile"):
            scales = scales_of(weight, bits, method)  # type: ignore[arg-type]
            assert (scales != 0).all()
            assert (rounded(weight, scales, bits) == 0).all()


def slow_gptq(weight: np.ndarray, hessian: np.ndarray, size: int) -> np.ndarray:
    """Optimal brain quantization, the largest input first, from its definition, in float64.

    After each input the inverse of the Hessian of the inputs that are left is computed anew.
    """
    left, num = weight.astype(np.float64), len(weight)
    damped = hessian + 0.01 * np.diag(hessian).mean() * np.eye(num)
    by = np.diag(hessian).astype(np.float32)
    scales = {
        i: scales_of(weight[i : i + size], 4, "gptq", importance=by[i : i + size])
        for i in range(0, num, size)
    }
    found = np.zeros_like(left)
    rest = sorted(range(num), key=lambda i: -by[i])
    while rest:
        i, step = rest[0], scales[rest[0] // size * size]
        inverse = np.linalg.inv(damped[np.ix_(rest, rest)])
        found[i] = rounded(left[i].astype(np.float32), step, 4) * step
        left[rest] -= np.outer(inverse[:, 0], (left[i] - found[i]) / inverse[0, 0])
        rest = rest[1:]
    return found


@pytest.mark.parametrize("block", [128, 5])
def test_gptq_is_its_definition_and_better_than_the_nearest(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "_BLOCK", block)
    inputs = RNG.normal(size=(200, 24)) @ RNG.normal(size=(24, 24))  # correlated
    hessian = (inputs.T @ inputs).astype(np.float32)
    weight = RNG.normal(size=(24, 10)).astype(np.float32)
    by = np.diag(hessian)
    found = wide(*in_groups(weight, 4, 8, "gptq", importance=by, hessian=hessian.copy()), 24)
    np.testing.assert_allclose(found, slow_gptq(weight, hessian, 8), rtol=1e-4, atol=1e-5)
    near = wide(*in_groups(weight, 4, 8, "mse", importance=by), 24)
    assert error(weight, found, hessian) < 0.8 * error(weight, near, hessian)


def test_gptq_of_inputs_that_are_always_zero() -> None:
    inputs = RNG.normal(size=(50, 6))
    inputs[:, 2] = 0
    hessian = (inputs.T @ inputs).astype(np.float32)
    weight = RNG.normal(size=(6, 3)).astype(np.float32)
    integers, scales = in_groups(weight, 4, 4, "gptq", hessian=hessian)
    assert integers.shape == (2, 4, 3)
    assert np.isfinite(scales).all()
    assert (integers[0, 2] == 0).all()
