"""The fused kernel of cuDNN: even lengths, masks it does not know, determinism."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.attention.visible import Visible


def cudnn(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    visible: Visible,
    scale: float,
    *,
    heads_of_mask: int = 1,
) -> jax.Array:
    """JAX can map the kernel over models only if a mask has all heads."""
    num_queries = q.shape[1]
    if num_queries % 2 or k.shape[1] % 2:
        # The kernel's backward pass takes even lengths only.
        padded = cudnn(*evened(q, k, v, visible), scale, heads_of_mask=heads_of_mask)
        return padded[:, :num_queries]
    if visible.is_padding:
        return _padded(q, k, v, visible, scale)
    # The kernel knows causality and windows; any other mask is explicit, and contains both.
    is_known = visible.is_plain or (visible.is_window_alone and q.shape[1] == k.shape[1])
    mask = None if is_known else visible.mask(q.shape[1], k.shape[1])
    if mask is not None and heads_of_mask > 1:
        mask = jnp.broadcast_to(mask, (q.shape[0], heads_of_mask, *mask.shape[2:]))
    window = visible.window if is_known else None
    out = jax.nn.dot_product_attention(
        q,
        k,
        v,
        mask=mask,
        scale=marked_scale(scale),
        # A mask has it too, but the kernel leaves out what it knows that nobody sees.
        is_causal=visible.causal and visible.starts is None,
        local_window_size=None if window is None else (window - 1, 0),
        implementation="cudnn",
    )
    if mask is None or visible.is_never_empty:
        return out
    # The kernel adds a large negative number: a query that sees no key would get the mean of all.
    sees = jnp.any(mask, axis=-1)[:, 0, :, None, None]
    return jnp.where(sees, out, jnp.zeros_like(out))


def _padded(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, scale: float) -> jax.Array:
    """The kernel takes lengths: no mask of queries × keys is needed."""
    assert visible.lengths is not None
    lengths = visible.lengths.astype(jnp.int32)
    out = jax.nn.dot_product_attention(
        q,
        k,
        v,
        scale=marked_scale(scale),
        # A row without keys would be 0/0 in the kernel: it reads one key, and is set to 0 below.
        key_value_seq_lengths=jnp.maximum(lengths, 1),
        implementation="cudnn",
    )
    return jnp.where((lengths > 0)[:, None, None, None], out, jnp.zeros_like(out))


def evened(
    q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible
) -> tuple[jax.Array, jax.Array, jax.Array, Visible]:
    """Pads queries and keys to even numbers; an added key is not seen."""

    def filled(x: jax.Array, value: float = 0) -> jax.Array:
        widths = [(0, 0), (0, x.shape[1] % 2), *[(0, 0)] * (x.ndim - 2)]
        return jnp.pad(x, widths, constant_values=value)

    batch, num_keys = k.shape[:2]
    lengths, segments = visible.lengths, visible.segments
    # Causality already hides a last key from all queries before it.
    hidden = visible.causal and visible.starts is None and q.shape[1] == num_keys
    if lengths is None and num_keys % 2 and not hidden:
        lengths = jnp.full((batch,), num_keys, jnp.int32)
    if segments is not None:
        segments = filled(segments[0], -1), filled(segments[1], -1)
    seen = replace(visible, lengths=lengths, segments=segments)
    return filled(q), filled(k), filled(v), seen


def has_fused_kernels() -> bool:
    """NVIDIA's, from Ampere on; AMD's are GPUs to JAX too, with names such as gfx942."""
    if jax.default_backend() != "gpu":
        return False
    generation = str(jax.local_devices()[0].compute_capability).partition(".")[0]
    return generation.isdecimal() and int(generation) >= 8


_ASKED = re.compile(
    r"--xla_gpu_(?:deterministic_ops|exclude_nondeterministic_ops)(?:=(?:true|1))?(?:\s|$)", re.I
)
_IS_ASKED = ContextVar("is_asked", default=False)
_MARK = 1 + 2.0**-44  # what float32, in which kernels compute, does not see


@contextmanager
def deterministic_kernels() -> Iterator[None]:
    """Within it, programs that are traced must be deterministic, whatever XLA_FLAGS has."""
    before = _IS_ASKED.set(True)
    try:
        yield
    finally:
        _IS_ASKED.reset(before)


def marked_scale(scale: float) -> float:
    """The scale; where XLA must be deterministic, one that marks the kernel as deterministic.

    XLA does so by itself, but only in the first of several equal backward passes, and then has no
    program for the others (IndexError). The scale is what JAX hands down from here to the call.
    """
    if not (_IS_ASKED.get() or _ASKED.search(os.environ.get("XLA_FLAGS", ""))):
        return scale
    _mark_calls()
    return float(np.float32(scale)) * _MARK


@cache
def _mark_calls() -> None:
    """From now on, calls with a marked scale say that they are deterministic."""
    from jax._src.cudnn import fused_attention_stablehlo as calls

    plain = calls.create_dot_product_attention_backend_config

    def described(*args: Any, **named: Any) -> str:
        words: str = plain(*args, **named)
        config = json.loads(words)
        call = config["cudnn_fmha_backend_config"]
        scale = call["fmha_scale"]
        is_backward = "bmm1_grad_gemm1_dot_dimension_numbers" in call
        if is_backward and scale == float(np.float32(scale)) * _MARK:
            call["force_deterministic"] = True
            return json.dumps(config)
        return words

    calls.create_dot_product_attention_backend_config = described
