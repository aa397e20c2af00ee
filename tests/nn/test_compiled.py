"""What programs are compiled with on a GPU, and that nothing changes elsewhere."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from barrow.nn.attention.fused_attention import marked_scale
from barrow.nn.compiled import NO_TRITON, compiled, jitted
from barrow.train import StepSettings


def test_elsewhere_it_is_jit() -> None:
    double = compiled(lambda x: 2 * x, deterministic=True, donate_argnums=0)
    assert float(double(jnp.float32(3))) == 6


@pytest.mark.parametrize("deterministic", [True, False])
def test_options_on_a_gpu(deterministic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "jit", lambda function, **options: given.update(options) or function)
    scales = compiled(lambda: [marked_scale(0.125) for _ in range(3)], deterministic=deterministic)
    options = dict(given["compiler_options"])
    assert options.pop("xla_gpu_deterministic_ops", False) == deterministic
    # Without these a deterministic step is slower, and biases are added by kernels of their own.
    assert options == {"xla_gpu_enable_triton_gemm": False, "xla_gpu_dot_merger_threshold_mb": 0}
    assert [scale != 0.125 for scale in scales()] == [deterministic] * 3


def test_steps_have_the_same_bits_unless_asked_otherwise() -> None:
    """ACCELERATE-11: a run that resumes is the run that never stopped, on a GPU too."""
    assert StepSettings().deterministic


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
