"""Rows of a table by id, and the sums that are their gradient (FLAX-2, DEEPSPEED-1)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.nn.layers.row_sums import rows, sum_by_id


def _sums(ids: np.ndarray, x: np.ndarray, num: int) -> np.ndarray:
    wanted = np.zeros((num, x.shape[1]))
    known = ids < num
    np.add.at(wanted, ids[known], x[known].astype(np.float64))
    return wanted


@pytest.mark.parametrize(
    "ids",
    [
        np.random.default_rng(0).integers(0, 50, 1000),
        np.minimum(np.random.default_rng(1).zipf(1.3, 5000), 50) - 1,  # ids over many blocks
        np.full(700, 7),
        np.arange(50),
        np.array([49]),
        np.array([], int),
        np.array([0, 50, 1000, 3] * 100),  # past the end
    ],
    ids=["uniform", "zipf", "one", "each", "single", "none", "unknown"],
)
def test_sums_of_an_id_are_those_of_a_float64_loop(ids: np.ndarray) -> None:
    x = np.random.default_rng(2).normal(size=(len(ids), 8)).astype(np.float32)
    got = jax.jit(lambda ids, x: sum_by_id(ids, x, 50))(jnp.asarray(ids, jnp.int32), x)
    wanted = _sums(ids, x, 50)
    assert np.abs(got - wanted).max() <= 1e-5 * max(np.abs(wanted).max(), 1)


def test_many_small_summands_are_not_lost_in_bfloat16() -> None:
    x = jnp.ones((4096, 2), jnp.bfloat16)
    # In bfloat16 a sum of ones ends at 256.
    sums = jax.jit(lambda ids, x: sum_by_id(ids, x, 3))(jnp.zeros(4096, jnp.int32), x)
    assert sums[0].tolist() == [4096, 4096]


def test_gradient_is_that_of_take() -> None:
    random = np.random.default_rng(3)
    table = jnp.asarray(random.normal(size=(20, 4)), jnp.float32)
    ids = jnp.asarray(random.integers(0, 20, (6, 30)), jnp.int32)
    above = jnp.asarray(random.normal(size=(6, 30, 4)), jnp.float32)
    ours = jax.jit(jax.grad(lambda t: (rows(t, ids) * above).sum()))(table)
    plain = jax.jit(jax.grad(lambda t: (jnp.take(t, ids, axis=0) * above).sum()))(table)
    np.testing.assert_allclose(ours, plain, atol=1e-5)


def test_unknown_ids_are_nan_and_have_no_gradient() -> None:
    table = jnp.ones((4, 2))
    ids = jnp.array([1, 4])
    assert jnp.isnan(rows(table, ids)).any(axis=-1).tolist() == [False, True]
    of_table = jax.jit(jax.grad(lambda t: rows(t, ids)[0].sum()))(table)
    assert of_table.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]
