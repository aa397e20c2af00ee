"""How encoders are compiled."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from barrow.models.inference import jitted
from barrow.nn.compiled import NO_TRITON


def test_compiled_once_with_options_on_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def jit(function: Any, *, compiler_options: Any, static_argnums: int) -> Any:
        made.append((compiler_options, static_argnums))
        return function

    call = jitted(lambda num, x: num * x, static_argnums=0)
    monkeypatch.setattr(jax, "jit", jit)
    assert [call(2, 3.0) for _ in range(2)] == [6, 6]
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert call(2, 3.0) == 6
    assert made == [(None, 0), (NO_TRITON, 0)]


def test_inside_another_jit_it_is_the_function() -> None:
    """JAX takes options of the compiler only outside."""
    traced: list[Any] = []

    def double(x: jax.Array) -> jax.Array:
        traced.append(x)
        return 2 * x

    call = jitted(double)
    for _ in range(2):
        assert float(call(jnp.float32(2))) == 4
    assert len(traced) == 1
    assert float(jax.jit(lambda x: call(x) + 1)(jnp.float32(2))) == 5
    assert len(traced) == 2
