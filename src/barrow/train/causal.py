"""The objective of causal language models: nats to say each next token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
    Activations have the type of the parameters, which the step's precision chose: the model's own
    `dtype` has no say.
    """

    def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
        _refuse_other_arrays(batch, is_parted)
        parts = {}
        if is_parted:
            parts = {"segments": batch["segments"], "positions": batch["positions"]}
        weight, transposed = head_weight(model.config, params)
        run = replace(model, dtype=jnp.dtype(weight.dtype).name)
        hidden, _ = run.apply(
            params,
            batch["tokens"],
            method=run.hidden,
            keys={"dropout": key} if model.config.dropout else None,
            constrain=constrain,
            **parts,
        )
        mask = batch["mask"].astype(jnp.float32)
        total = cross_entropy(hidden, weight, batch["targets"], mask, transposed=transposed)
        return Loss(total, mask.sum(), {}, collections)

    return Objective(loss)


def _refuse_other_arrays(batch: Mapping[str, Any], is_parted: bool) -> None:
    wanted = ("tokens", "targets", "mask", *(("segments", "positions") if is_parted else ()))
    missing = [name for name in wanted if name not in batch]
    if missing:
        raise ValueError(
            f"the batch has no {', '.join(missing)}; it has {', '.join(batch)}"
            + (" (is_parted=False needs no segments and positions)" if is_parted else "")
        )
    shape = jnp.shape(batch["tokens"])
    for name in wanted:
        if len(shape) != 2 or jnp.shape(batch[name]) != shape:
            raise ValueError(
                f"tokens are [rows, length] and {name} likewise: found tokens of shape {shape} and "
                f"{name} of shape {jnp.shape(batch[name])}"
            )
