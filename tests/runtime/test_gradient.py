"""The gradient of a batch on eight devices against JAX's own on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import barrow
from barrow.train import Mean

RNG = np.random.default_rng(0)
PARAMS = {
    "w": RNG.normal(size=(8, 16)).astype(np.float32),
    "scale": np.ones(16, np.float32),
    "v": RNG.normal(size=16).astype(np.float32),
}


def loss(params: Any, x: Any, y: Any) -> Any:
    """Its rows are normalised together, so pieces of a batch would give another number."""
    hidden = x @ params["w"]
    hidden = params["scale"] * (hidden - hidden.mean(0)) / jnp.sqrt(hidden.var(0) + 1e-3)
    return jnp.mean(jnp.square(jnp.tanh(hidden) @ params["v"] - y))


def rowwise(params: Any, x: Any, y: Any) -> Any:
    found = jnp.tanh(x @ params["w"]) * params["scale"] @ params["v"]
    return jnp.mean(jnp.square(found - y)), {"mean": found.mean()}


def rows(num: int) -> tuple[Any, Any]:
    return RNG.normal(size=(num, 8)).astype(np.float32), RNG.normal(size=num).astype(np.float32)


def close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, tolerance, tolerance), found, expected
    )


def taken(function: Callable[..., Any], num: int, has_aux: bool = False, **settings: Any) -> None:
    rt = barrow.Runtime(**settings)
    x, y = rows(num)
    params = rt.prepare(PARAMS)
    found = jax.jit(rt.value_and_grad(function, has_aux=has_aux))(params, *rt.batch((x, y)))
    close(found, jax.jit(jax.value_and_grad(function, has_aux=has_aux))(PARAMS, x, y))


SOAK = pytest.mark.soak


@pytest.mark.parametrize("num", [43, pytest.param(16, marks=SOAK), pytest.param(3, marks=SOAK)])
def test_any_number_of_rows(num: int) -> None:
    taken(loss, num)


@pytest.mark.parametrize("zero", [3, pytest.param(2, marks=SOAK)])
def test_a_divided_state(zero: int) -> None:
    taken(loss, 43, plan={"data": 2, "fsdp": 4, "zero": zero})
    rt = barrow.Runtime(plan={"data": 2, "fsdp": 4, "zero": zero})
    assert rt.prepare(PARAMS)["w"].addressable_shards[0].data.shape == (8, 4)


@pytest.mark.parametrize(
    ("num", "accumulate"),
    [(43, 4), pytest.param(32, 2, marks=SOAK), pytest.param(3, 4, marks=SOAK)],
)
def test_micro_batches(num: int, accumulate: int) -> None:
    taken(rowwise, num, has_aux=True, accumulate=accumulate)


def test_uneven_rows_are_divided_over_the_devices() -> None:
    rt = barrow.Runtime()
    params, batch = rt.prepare(PARAMS), rt.batch(rows(43))
    text = jax.jit(rt.value_and_grad(loss)).lower(params, *batch).compile().as_text()
    assert "f32[6,16]" in text  # 43 rows on 8 devices are at most 6 on each
    assert "f32[43,16]" not in text


def test_ragged_rows_are_exact_with_a_total_and_a_weight() -> None:
    """ACCELERATE-10: the mean over tokens is not the mean of the means of micro-batches."""
    x, mask = RNG.normal(size=(16, 8)).astype(np.float32), np.tri(16, 16, dtype=np.float32)

    def parts(params: Any, x: Any, mask: Any) -> tuple[Any, Any]:
        return jnp.sum(jnp.square(x @ params["w"]) * mask), jnp.sum(mask)

    def mean(params: Any, x: Any, mask: Any) -> Any:
        total, weight = parts(params, x, mask)
        return total / weight

    rt = barrow.Runtime(accumulate=4)
    batch, params = rt.batch((x, mask)), {"w": PARAMS["w"]}
    expected = jax.jit(jax.value_and_grad(mean))(params, x, mask)
    found = jax.jit(rt.value_and_grad(lambda *given: Mean(*parts(*given))))(params, *batch)
    close(found, expected)
    other, _ = jax.jit(rt.value_and_grad(mean))(params, *batch)
    assert abs(other - expected[0]) > 1e-3


def test_bf16_computes_in_bf16_and_gives_gradients_in_the_types_of_the_parameters() -> None:
    """ACCELERATE-9."""
    rt, batch = barrow.Runtime(precision="bf16"), rows(16)
    expected, _ = jax.jit(rowwise)(PARAMS, *batch)
    take = rt.value_and_grad(rowwise, has_aux=True)
    (value, _), grads = jax.jit(take)(rt.prepare(PARAMS), *rt.batch(batch))
    assert value == pytest.approx(float(expected), rel=0.01)
    assert "bf16[16,16] = dot_general" in str(jax.make_jaxpr(take)(PARAMS, *batch))
    assert {str(g.dtype) for g in jax.tree.leaves(grads)} == {"float32"}


def test_a_key_differs_between_micro_batches() -> None:
    def noise(params: Any, x: Any, key: Any) -> Any:
        return jnp.mean(x @ params["w"]) * 0, jax.random.uniform(key)

    x, _ = rows(16)
    key = jax.random.key(1)
    for accumulate in (1, 2):
        take = barrow.Runtime(accumulate=accumulate).value_and_grad(noise, has_aux=True)
        (_, found), _ = jax.jit(take)(PARAMS, x, key)
        assert (found == jax.random.uniform(key)) == (accumulate == 1)


def test_what_is_refused() -> None:
    x, y = rows(16)
    rt = barrow.Runtime(accumulate=2)
    with pytest.raises(ValueError, match="needs a loss that takes its batch"):
        rt.value_and_grad(lambda params: loss(params, x, y))(PARAMS)
    with pytest.raises(ValueError, match=r"aux must be numbers.*\(8,\)"):
        rt.value_and_grad(lambda p, x, y: (loss(p, x, y), y), has_aux=True)(PARAMS, x, y)
    with pytest.raises(ValueError, match=r"must be a number.*\(8,\)"):
        rt.value_and_grad(lambda p, x, y: y)(PARAMS, x, y)
    with pytest.raises(ValueError, match="same number of rows.*15"):
        rt.value_and_grad(loss)(PARAMS, x, y[:15])
