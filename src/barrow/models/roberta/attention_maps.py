"""The internals of an encoder for some tokens: hidden states and attention maps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta

_SEEN = "intermediates"


@partial(jax.jit, static_argnames=("model",))
def hidden_states(
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None = None,
) -> jax.Array:
    """All hidden states [layers + 1, batch, length, width]; 0 goes into the first layer."""
    seen = _seen(model, params, tokens, lengths)
    return jnp.concatenate([seen["embedded"][None], seen["layers"]["hidden"]])


@partial(jax.jit, static_argnames=("model",))
def attention_maps(
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None = None,
) -> jax.Array:
    """Attention weights of each position, [layers, batch, heads, length, length].

    float32; each row [..., i, :] sums to 1, and only padding attends to padding.
    """
    maps: jax.Array = _seen(model, params, tokens, lengths)["layers"]["attention"]["weights"]
    return maps


def _seen(
    model: Roberta | RobertaWithHead,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None,
) -> Any:
    body = model.body if isinstance(model, RobertaWithHead) else model
    _, found = body.apply_and_collect(params, tokens, lengths=lengths, mutable=(_SEEN,))
    return found[_SEEN]
