"""Functions of an encoder, compiled: on a GPU by cuBLAS's products alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jax

from barrow.nn.compiled import NO_TRITON


def jitted(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit`; on a GPU without Triton. Inside another jit it is the function itself."""

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
