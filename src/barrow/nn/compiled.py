"""How programs are compiled for a GPU: those that train, with the same bits each time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jax

from barrow.nn.attention.fused_attention import deterministic_kernels

# Products by Triton are no faster than cuBLAS's, and trying them takes most of the compilation.
# Where cuBLAS's is chosen after all, its bias is added by a kernel of its own.
NO_TRITON = {"xla_gpu_enable_triton_gemm": False}
# A product merged with others cannot add its bias.
_FREE = NO_TRITON | {"xla_gpu_dot_merger_threshold_mb": 0}
# XLA then takes cuBLAS's first choice for each product, without trials.
_DETERMINISTIC = _FREE | {"xla_gpu_deterministic_ops": True}


def compiled(function: Callable[..., Any], *, deterministic: bool, **options: Any) -> Any:
    """`jax.jit(function, **options)`; on a GPU, `deterministic` gives the same bits each time.

    Otherwise XLA chooses kernels by a race at compile time, and some add in an order that varies.
    """
    if jax.default_backend() != "gpu":
        return jax.jit(function, **options)
    if not deterministic:
        return jax.jit(function, compiler_options=_FREE, **options)

    @wraps(function)
    def traced(*args: Any) -> Any:
        with deterministic_kernels():
            return function(*args)

    return jax.jit(traced, compiler_options=_DETERMINISTIC, **options)


def jitted(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit` for inference; on a GPU without Triton. Inside another jit it is the function."""

    @cache
    def made(backend: str) -> Any:
        return jax.jit(
            function, compiler_options=NO_TRITON if backend == "gpu" else None, **options
        )

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        is_inside = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((args, named)))
        return (function if is_inside else made(jax.default_backend()))(*args, **named)

    call.made = made  # type: ignore[attr-defined]
    return call
