"""Types of a step (FLAX-4, ACCELERATE-9)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from barrow import nn
from barrow.train import Precision, default_precision
from barrow.train.fp8 import Fp8Kernel

PARAMS = nn.from_paths(
    {
        "embed/table": jnp.ones((4, 2)),
        "layers/mlp/up/kernel": jnp.ones((1, 2, 2)),
        "layers/mlp/up/bias": jnp.ones((1, 2)),
        "ids": jnp.ones((2,), jnp.int32),
    }
)


@pytest.mark.parametrize(
    ("name", "dtype", "is_scaled"),
    [
        ("fp32", jnp.float32, False),
        ("bf16", jnp.bfloat16, False),
        ("fp16", jnp.float16, True),
        ("fp8", jnp.bfloat16, False),
    ],
)
def test_types(name, dtype, is_scaled) -> None:
    precision = Precision(name)
    cast = nn.paths(precision.cast(PARAMS))
    assert {x.dtype for path, x in cast.items() if path != "ids"} == {jnp.dtype(dtype)}
    assert cast["ids"].dtype == jnp.int32
    assert precision.is_scaled is is_scaled


def test_only_kernels_of_layers_are_fp8() -> None:
    prepared = nn.paths(Precision("fp8").prepared(PARAMS))
    kinds = {path for path, x in prepared.items() if isinstance(x, Fp8Kernel)}
    assert kinds == {"layers/mlp/up/kernel"}
    assert Precision("bf16").prepared(PARAMS) is PARAMS


def test_the_default_is_float32_on_a_cpu() -> None:
    assert jax.default_backend() == "cpu"
    assert default_precision() == Precision("fp32")


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="precision must be fp32, bf16, fp16 or fp8, got 'int4'"):
        Precision("int4")  # type: ignore[arg-type]
