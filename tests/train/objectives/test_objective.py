"""Totals and weights add up exactly (FLAX-6, ACCELERATE-10, ACCELERATE-14)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.parallel import make_mesh, rows_sharding
from barrow.train import Mean
from barrow.train.objectives.objective import check_arrays, check_token_arrays


def test_a_mean_of_sums_is_not_a_mean_of_means() -> None:
    parts = [Mean(jnp.float32(6), jnp.float32(3)), Mean(jnp.float32(10), jnp.float32(1))]
    assert float((parts[0] + parts[1]).value) == 4


def test_of_nothing_it_is_zero() -> None:
    assert float(Mean(jnp.float32(0), jnp.float32(0)).value) == 0


def test_1003_rows_on_8_devices_count_1003() -> None:
    """The last batch is filled up with rows of mask 0."""
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 1003).astype(np.float32)
    rows = 64
    sharding = rows_sharding(make_mesh())

    @jax.jit
    def count(found: Mean, values: jax.Array, mask: jax.Array) -> Mean:
        return found + Mean(jnp.sum(values * mask), jnp.sum(mask))

    found = Mean(jnp.float32(0), jnp.float32(0))
    for start in range(0, 1003, rows):
        values = right[start : start + rows]
        missing = rows - len(values)
        mask = np.pad(np.ones_like(values), (0, missing))
        values = np.pad(values, (0, missing), constant_values=7)
        found = count(found, *(jax.device_put(x, sharding) for x in (values, mask)))
    assert float(found.weight) == 1003
    assert float(found.total) == right.sum()


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
