from __future__ import annotations

import numpy as np
import pytest

from barrow.train.objectives.batch_arrays import check_arrays, check_token_arrays

ROWS = np.zeros((2, 3))


def test_what_is_there_may_have_company() -> None:
    check_arrays({"a": 1, "b": 2}, "a")
    check_token_arrays({"tokens": ROWS, "mask": ROWS, "more": 1}, "mask")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match="^the batch has no a, c; it has b!$"):
        check_arrays({"b": 1}, "a", "b", "c", hint="!")
    with pytest.raises(ValueError, match="^the batch has no tokens; it has mask$"):
        check_token_arrays({"mask": ROWS}, "mask")


@pytest.mark.parametrize("shape", [(2, 4), (3, 3), (2,), (2, 3, 1)])
def test_shapes_are_alike(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"tokens and mask must be .rows, length., got \(2, 3\) and"
    ):
        check_token_arrays({"tokens": ROWS, "mask": np.zeros(shape)}, "mask")


def test_tokens_have_rows_and_columns() -> None:
    with pytest.raises(ValueError, match=r"must be \[rows, length\], got .*\(3,\)"):
        check_token_arrays({"tokens": ROWS[0]})
