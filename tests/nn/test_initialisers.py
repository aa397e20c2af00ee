"""What parameters begin as."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from barrow import nn

KEY = jax.random.key(0)


def test_constants() -> None:
    assert not jnp.any(nn.zeros(KEY, (2, 3), jnp.float32))
    assert jnp.all(nn.ones(KEY, (2, 3), jnp.bfloat16) == 1)


def test_spread() -> None:
    x = nn.normal(0.3)(KEY, (300, 400), jnp.float32)
    assert float(jnp.std(x)) == pytest.approx(0.3, rel=0.02)
    assert abs(float(jnp.mean(x))) < 0.01
    x = nn.uniform(0.5)(KEY, (300, 400), jnp.float32)
    assert float(jnp.max(jnp.abs(x))) <= 0.5
    assert float(jnp.std(x)) == pytest.approx(0.5 / 3**0.5, rel=0.02)
    x = nn.fan_in(2.0)(KEY, (50, 400), jnp.float32)
    assert float(jnp.std(x)) == pytest.approx((2 / 50) ** 0.5, rel=0.02)
    x = nn.fan_in(num_in=2)(KEY, (5, 10, 400), jnp.float32)
    assert float(jnp.std(x)) == pytest.approx(50**-0.5, rel=0.02)


def test_drawn_in_float32_then_rounded() -> None:
    small = nn.normal(1.0)(KEY, (1000,), jnp.bfloat16)
    assert small.dtype == jnp.bfloat16
    assert jnp.all(small == nn.normal(1.0)(KEY, (1000,), jnp.float32).astype(jnp.bfloat16))


def test_equal_numbers_make_equal_modules() -> None:
    assert nn.normal(0.1) == nn.normal(0.1) != nn.normal(0.2)
    assert nn.normal() == nn.normal(0.02)
    assert nn.fan_in() == nn.fan_in() != nn.fan_in(num_in=2)
    assert nn.uniform(1.0) == nn.uniform(1.0)
    one, other = (nn.Dense(3, weight_init=nn.normal(0.1)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


def test_a_constant() -> None:
    made = nn.constant(2.5)(jax.random.key(0), (2, 3), jnp.float32)
    assert made.tolist() == [[2.5] * 3] * 2
    assert nn.constant(2.5) == nn.constant(2.5) != nn.constant(2)
