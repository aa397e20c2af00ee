"""How a step is compiled for a GPU: the same bits each time, without trials of kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax

from barrow.nn.attention.fused_attention import distinct_scales


def compiled(function: Callable[..., Any], *, deterministic: bool, **options: Any) -> Any:
    """`jax.jit(function, **options)`; on a GPU, `deterministic` gives the same bits each time.

    Otherwise XLA chooses kernels by a race at compile time, and some add in an order that varies.
    """
    if jax.default_backend() != "gpu":
        return jax.jit(function, **options)
    # Products by Triton are no faster than cuBLAS's, and trying them takes most of the compilation.
    # A product merged with others cannot add its bias.
    how: dict[str, Any] = {"xla_gpu_enable_triton_gemm": False}
    how["xla_gpu_dot_merger_threshold_mb"] = 0
    if not deterministic:
        return jax.jit(function, compiler_options=how, **options)

    @wraps(function)
    def traced(*args: Any) -> Any:
        with distinct_scales():
            return function(*args)

    how["xla_gpu_deterministic_ops"] = True
    return jax.jit(traced, compiler_options=how, **options)
