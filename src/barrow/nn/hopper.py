"""What kernels for one GPU of the Hopper generation share. Each has a twin in plain JAX.

The twin is the definition: it runs on other hardware, over several devices, for shapes that the
kernel does not take, and under `jax.vmap`. Which of the two runs is logged once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import jax

LANES = 128  # numbers of a group: a row is [groups, LANES]


def is_hopper(*, alone: bool = True) -> bool:
    """Whether the program runs on one such GPU: to several devices a kernel is opaque."""
    if jax.default_backend() != "gpu" or (alone and jax.device_count() > 1):
        return False
    return getattr(jax.local_devices()[0], "compute_capability", "") == "9.0"


@lru_cache(maxsize=256)
def with_twin(
    kernel: Callable[..., Any], twin: Callable[..., Any], *how: Any
) -> Callable[..., Any]:
    """The kernel, of arrays; under `jax.vmap` its twin, as a kernel cannot be batched.

    `how` are first arguments of both. A kernel is lowered once for all layers, not at each use.
    """
    kernel, twin = partial(kernel, *how), partial(twin, *how)
    call: Any = jax.custom_batching.custom_vmap(jax.jit(kernel))

    def batched(size: int, is_batched: Any, *args: Any) -> tuple[Any, Any]:
        del size
        axes = jax.tree.map(lambda one: 0 if one else None, tuple(is_batched))
        found = jax.vmap(twin, in_axes=axes)(*args)
        return found, jax.tree.map(lambda _: True, found)

    call.def_vmap(batched)
    return call  # type: ignore[no-any-return]


@cache
def log_choice(what: str, shape: tuple[int, ...], is_kernel: bool) -> None:
    """Say once which of the two runs."""
    which = "a kernel for Hopper GPUs" if is_kernel else "plain JAX"
    logging.getLogger(__name__).info("%s of %s: %s", what, "×".join(map(str, shape)), which)


def rows_layout(groups: int) -> Any:
    """How a warpgroup holds a row: as many neighbours in a thread as divide it evenly."""
    from jax.experimental.pallas import mosaic_gpu as gpu

    size = next(size for size in (8, 4, 2, 1) if groups % size == 0)
    return gpu.Layout.WG_STRIDED((groups, LANES), vec_size=size)
