"""The number format of a step. Masters, optimizer state and losses are always float32."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp

from barrow.train.fp8 import with_fp8_kernels
from barrow.train.loss_scale import ScaleSettings

Name = Literal["fp32", "bf16", "fp16", "fp8"]


@dataclass(frozen=True)
class Precision:
    """fp32; bf16 compute; fp16 with a dynamic scale; fp8 matrix products in a bf16 computation.

    - `name`: fp32, bf16, fp16 or fp8; `scale`: of the loss, with fp16.
    """

    name: Name = "fp32"
    scale: ScaleSettings = field(default_factory=ScaleSettings)

    def __post_init__(self) -> None:
        if self.name not in ("fp32", "bf16", "fp16", "fp8"):
            raise ValueError(f"precision must be fp32, bf16, fp16 or fp8, got {self.name!r}")

    @property
    def dtype(self) -> Any:
        """The type parameters and activations have inside a step."""
        return {"fp32": jnp.float32, "fp16": jnp.float16}.get(self.name, jnp.bfloat16)

    @property
    def is_scaled(self) -> bool:
        """Whether losses are scaled."""
        return self.name == "fp16"

    def cast(self, params: Any) -> Any:
        """Parameters in the type of the computation; gradients are taken with respect to these.

        A scalar (the scale of CLIP's cosines) is not cast: rounding it would change every logit.
        Nor are routers, which choose between experts of nearly equal logits.
        """

        def one(path: Any, x: Any) -> Any:
            is_exact = not x.ndim or "/router/" in jax.tree_util.keystr(
                path, simple=True, separator="/"
            )
            is_cast = not is_exact and jnp.issubdtype(x.dtype, jnp.floating)
            return x.astype(self.dtype) if is_cast else x

        return jax.tree_util.tree_map_with_path(one, params)

    def prepared(self, params: Any) -> Any:
        """Cast parameters for the model."""
        return with_fp8_kernels(params) if self.name == "fp8" else params


def default_precision() -> Precision:
    """bf16 on accelerators, fp32 elsewhere."""
    return Precision("fp32" if jax.default_backend() == "cpu" else "bf16")
