"""The objective of causal language models: nats to say each next token."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.decoder import Decoder, head_weight
from barrow.nn.cross_entropy import cross_entropy
from barrow.nn.trace import Constrain
from barrow.train.objective import Loss, Objective


def causal_objective(
    model: Decoder, *, is_parted: bool = True, constrain: Constrain | None = None
) -> Objective:
    """Of batches with tokens, targets and mask [rows, length], and segments where `is_parted`.

    Parted, attention and positions stop at the borders of documents; else a row is read as one.
    """

    def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
        parts = {}
        if is_parted:
            parts = {"segments": batch["segments"], "positions": batch["positions"]}
        hidden, _ = model.apply(
            params,
            batch["tokens"],
            method=model.hidden,
            keys={"dropout": key} if model.config.dropout else None,
            constrain=constrain,
            **parts,
        )
        weight, transposed = head_weight(model.config, params)
        mask = batch["mask"].astype(jnp.float32)
        total = cross_entropy(hidden, weight, batch["targets"], mask, transposed=transposed)
        return Loss(total, mask.sum(), {}, collections)

    return Objective(loss)
