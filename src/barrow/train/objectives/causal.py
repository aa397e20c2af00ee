"""The objective of causal language models: nats of each next token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp

from barrow.models.family import CausalModule
from barrow.nn.cross_entropy import cross_entropy
from barrow.nn.layers.experts import ROUTER
from barrow.nn.trace import Constrain
from barrow.train.objectives.objective import Loss, Objective, check_token_arrays
from barrow.train.objectives.router import with_routers


def causal_objective(
    model: CausalModule,
    *,
    mask_documents: bool = True,
    is_training: bool = True,
    constrain: Constrain | None = None,
) -> Objective:
    """For batches with tokens, targets and mask [rows, length], and segments if `mask_documents`.

    If so, documents are masked from each other and positions restart; else a row is read as one.
    Activations have the type of the parameters, which the step's precision chose: the model's own
    `dtype` is ignored. Dropout, and what the routers of experts add, are off unless `is_training`.
    """
    has_experts = getattr(model.config, "experts", None) is not None
    drops = is_training and getattr(model.config, "dropout", 0) > 0
    hint = " (mask_documents=False needs no segments and positions)" if mask_documents else ""

    def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
        borders = ("segments", "positions") if mask_documents else ()
        check_token_arrays(batch, "targets", "mask", *borders, hint=hint)
        parts = {name: batch[name] for name in borders}
        if has_experts and not mask_documents and "segments" in batch:
            parts["lengths"] = (batch["segments"] > 0).sum(axis=1)  # the rest is padding
        weight, transposed = model.head_weight(params)
        run = replace(cast("Any", model), dtype=jnp.dtype(weight.dtype).name)
        (hidden, _), collected = run.apply_and_collect(
            params,
            batch["tokens"],
            method=run.hidden,
            mutable=(ROUTER,) if is_training else (),
            keys={"dropout": key} if drops else None,
            constrain=constrain,
            **parts,
        )
        mask = batch["mask"].astype(jnp.float32)
        total = cross_entropy(
            hidden, weight, batch["targets"], mask, transposed=transposed, constrain=constrain
        )
        total, metrics = with_routers(total, collected.get(ROUTER, {}), mask.sum(axis=1))
        return Loss(total, mask.sum(), metrics, collections)

    return Objective(loss)
