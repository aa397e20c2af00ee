"""Products of a warp's registers, on NumPy: each number of a weight is used once, exactly."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from barrow.nn.weights.fragments import OVER, fragment_sums

LINES = 5
LANES = np.arange(32)
OUTPUT, PART = LANES // 4, LANES % 4


def floats(words: Any) -> np.ndarray:
    """Registers [32 threads, …] as two bfloat16 each."""
    words = np.ascontiguousarray(np.asarray(words, np.uint32))[..., None]
    found: np.ndarray = words.view(ml_dtypes.bfloat16).astype(np.float64)
    return found


class OnArrays:
    """Instructions as PTX's manual defines them, of the 32 threads of a warp at once."""

    zero = np.zeros(32)
    add, multiply = staticmethod(np.add), staticmethod(np.multiply)

    def keep(self, word: Any, mask: int) -> Any:
        return word & np.uint32(mask)

    def flip(self, word: Any, mask: int) -> Any:
        return word ^ np.uint32(mask)

    def shift(self, word: Any, by: int) -> Any:
        return word >> np.uint32(by)

    def pick(self, word: Any, order: int) -> Any:
        both = word.astype(np.uint64)  # the second word is 0
        taken = [both >> (order >> 4 * i & 15) * 8 & 255 for i in range(4)]
        return sum(byte << 8 * i for i, byte in enumerate(taken)).astype(np.uint32)

    def scaled(self, pair: Any, by: int, less: int) -> Any:
        exact = floats(pair) * floats(by) + floats(less)
        rounded = exact.astype(ml_dtypes.bfloat16)
        assert (rounded == exact).all()
        return rounded.view(np.uint32)[..., 0]

    def mma(self, sums: list[Any], a: list[Any], b: list[Any]) -> list[Any]:
        left, right, found = np.empty((16, 16)), np.empty((16, 8)), np.empty((16, 8))
        for i in range(2):
            low, high = (floats(a[2 * i + half]) for half in range(2))
            for j in range(2):
                inner = 2 * PART + j + 8 * i
                left[OUTPUT, inner], left[OUTPUT + 8, inner] = low[:, j], high[:, j]
                right[inner, OUTPUT] = floats(b[i])[:, j]
                found[OUTPUT + 8 * i, 2 * PART + j] = sums[2 * i + j]
        found += left @ right
        return [found[OUTPUT + 8 * (i // 2), 2 * PART + i % 2] for i in range(4)]


@pytest.mark.parametrize("bits", [16, 8, 4])
def test_sums_are_those_of_float64(bits: int) -> None:
    random = np.random.default_rng(bits)
    line = 32 if bits == 16 else 64
    x = random.normal(size=(2, LINES * line)).astype(ml_dtypes.bfloat16)
    scales: list[Any] = []
    if bits == 16:
        held: Any = random.normal(size=(8, LINES * line)).astype(ml_dtypes.bfloat16)
        numbers = held.astype(np.float64)
    elif bits == 8:
        held = numbers = random.integers(-128, 128, (8, LINES * line)).astype(np.int8)
    else:
        nibbles = random.integers(0, 16, (8, LINES * line // 8, 4, 2)).astype(np.uint32)
        low, high = (nibbles << 4 * np.arange(4, dtype=np.uint32)[:, None]).sum(axis=2).T
        held = (low | high << 16).T.astype(np.uint32)
        by = random.uniform(size=(8, LINES))
        numbers = (nibbles.reshape(8, LINES, line) - 8.0) * by[..., None]
        scales = [[by[2 * PART + i, n] for i in range(2)] for n in range(LINES)]

    def registers(array: np.ndarray) -> list[Any]:
        """Of each line, those of all threads: a quarter of a line each."""
        words = array.reshape(len(array), LINES, 4, -1).view(np.uint32)
        return [list(words[OUTPUT % len(array), n, PART].T) for n in range(LINES)]

    xs = [registers(row[None]) for row in x]
    got = fragment_sums(OnArrays(), bits, registers(held), xs, scales)
    wanted = x.astype(np.float64) @ numbers.reshape(8, -1).astype(np.float64).T
    for row in range(2):
        for i in range(2):
            ours = got[row][i] * (1 if bits == 16 else OVER)
            np.testing.assert_allclose(ours, wanted[row][2 * PART + i], rtol=1e-9)
