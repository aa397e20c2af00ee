"""The surprise (nats) of each token of rows under a causal model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, cast

import jax

from barrow.models.family import CausalModule
from barrow.nn.cross_entropy import token_nats
from barrow.nn.layers.repeat import take_apart
from barrow.nn.tree import Tree
from barrow.nn.vocabulary_blocks import token_nats_by_blocks


class TokenNats(Protocol):
    """Nats of targets [rows, length] from hidden states and the weight that makes logits."""

    def __call__(
        self, hidden: jax.Array, weight: Any, targets: jax.Array, *, transposed: bool
    ) -> jax.Array: ...


def next_token_nats(
    model: CausalModule, params: Mapping[str, Any], ids: jax.Array, *, nats: TokenNats = token_nats
) -> jax.Array:
    """Nats of ids [rows, length + 1] but the first of each row, float32 [rows, length].

    The last id of a row is predicted and not seen. `nats` turns logits into nats.
    """
    hidden, _ = model.apply(params, ids[:, :-1], method=model.hidden)
    weight, transposed = model.head_weight(params)
    return nats(hidden, weight, ids[:, 1:], transposed=transposed)


def next_token_nats_on_cpu(
    model: CausalModule, params: Mapping[str, Any], ids: jax.Array
) -> jax.Array:
    """The same with logits that stay in a CPU's caches."""
    return next_token_nats(model, params, ids, nats=token_nats_by_blocks)


def layers_apart(
    model: CausalModule, params: Mapping[str, Any]
) -> tuple[CausalModule, Mapping[str, Any]]:
    """The same with unstacked layers, which run faster."""
    if "layers" not in params:
        return model, params
    apart: Mapping[str, Any] | Tree = (
        params if isinstance(params["layers"], tuple) else take_apart(params, "layers")
    )
    return replace(cast("Any", model), unroll=True), apart
