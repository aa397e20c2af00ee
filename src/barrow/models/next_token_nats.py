"""How surprised a decoder is by each token of some rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax

from barrow.models.decoder import Decoder, head_weight
from barrow.nn.cross_entropy import token_nats
from barrow.nn.repeat import take_apart
from barrow.nn.tree import Tree


def next_token_nats(
    model: Decoder, params: Mapping[str, Any], ids: jax.Array, *, held: int = 1 << 28
) -> jax.Array:
    """Nats of ids [rows, length + 1] but the first of each row, float32 [rows, length].

    The last id of a row is guessed and not seen. About `held` logits exist at a time.
    """
    hidden, _ = model.apply(params, ids[:, :-1], method=model.hidden)
    weight, transposed = head_weight(model.config, params)
    rows, length, _ = hidden.shape
    wanted = rows * length * model.config.vocab_size // held + 1
    num_slices = next(n for n in range(min(wanted, length), length + 1) if length % n == 0)
    return token_nats(hidden, weight, ids[:, 1:], transposed=transposed, num_slices=num_slices)


def layers_apart(model: Decoder, params: Mapping[str, Any]) -> tuple[Decoder, Mapping[str, Any]]:
    """The same with each layer's parameters as arrays of their own, which run faster."""
    apart: Mapping[str, Any] | Tree = (
        params if isinstance(params["layers"], tuple) else take_apart(params, "layers")
    )
    return replace(model, unroll=True), apart
