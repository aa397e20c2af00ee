"""Functions of an encoder, compiled: on a GPU by cuBLAS's products alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jax


def jitted(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit`; on a GPU XLA does not try Triton's products.

    They are no faster, take most of the compilation, and where cuBLAS's is chosen after all, its
    bias is added by a kernel of its own. Called inside another jit it is the function itself.
    """

    @cache
    def made(backend: str) -> Any:
        how = {"xla_gpu_enable_triton_gemm": False} if backend == "gpu" else None
        return jax.jit(function, compiler_options=how, **options)

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        is_inside = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((args, named)))
        return (function if is_inside else made(jax.default_backend()))(*args, **named)

    call.made = made  # type: ignore[attr-defined]
    return call
