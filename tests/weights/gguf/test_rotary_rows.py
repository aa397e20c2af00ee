from __future__ import annotations

import numpy as np
import pytest

from barrow.weights.gguf.rotary_rows import halves_from_pairs, pairs_from_halves


@pytest.mark.parametrize("shape", [(24, 5), (24,)])
@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
def test_rows_by_their_definition(shape: tuple[int, ...], num_heads: int) -> None:
    rows = np.arange(np.prod(shape)).reshape(shape)
    half = 24 // num_heads // 2
    expected = np.empty_like(rows)
    for head in range(num_heads):
        for i in range(half):
            for j in (0, 1):  # the two of a pair
                expected[head * 2 * half + j * half + i] = rows[head * 2 * half + 2 * i + j]
    np.testing.assert_array_equal(halves_from_pairs(rows, num_heads=num_heads), expected)
    back = pairs_from_halves(expected, num_heads=num_heads)
    np.testing.assert_array_equal(back, rows)
