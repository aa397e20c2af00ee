"""What a step is compiled with on a GPU, and that nothing changes elsewhere."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from barrow.nn.attention.fused_attention import distinct_scale
from barrow.nn.compiled import compiled
from barrow.train import StepSettings


def test_elsewhere_it_is_jit() -> None:
    double = compiled(lambda x: 2 * x, deterministic=True, donate_argnums=0)
    assert float(double(jnp.float32(3))) == 6


@pytest.mark.parametrize("deterministic", [True, False])
def test_options_on_a_gpu(deterministic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "jit", lambda function, **options: given.update(options) or function)
    scales = compiled(
        lambda: [distinct_scale(0.125) for _ in range(3)], deterministic=deterministic
    )
    assert given["compiler_options"].get("xla_gpu_deterministic_ops", False) == deterministic
    first, again = scales(), scales()
    assert len({*first, *again}) == (6 if deterministic else 1)


def test_steps_are_fast_unless_asked_otherwise() -> None:
    assert not StepSettings().deterministic
