"""Tracing with shapes alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from barrow.nn.abstract import abstractly, jaxpr_of


def scaled(x, *, times, plus=None):
    assert isinstance(times, str)
    return x * len(times) if plus is None else x + plus


def test_arrays_are_abstract_and_the_rest_stays() -> None:
    shape = jax.ShapeDtypeStruct((10**6, 10**6), jnp.float32)
    assert abstractly(scaled, shape, times="ab").shape == shape.shape
    assert abstractly(scaled, jnp.ones(3), times="ab", plus=None).shape == (3,)


def test_equations() -> None:
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    equations = jaxpr_of(scaled, shape, times="ab").jaxpr.eqns
    assert [equation.primitive.name for equation in equations] == ["mul"]
