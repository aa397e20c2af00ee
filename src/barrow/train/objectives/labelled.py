"""The objectives of fine-tuning: nats of each label, or the squared error of each number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.roberta.heads import RegressionHead, RobertaWithHead
from barrow.models.roberta.model import full_positions
from barrow.train.finetune.layer_groups import LayerGroups
from barrow.train.objectives.objective import Loss, Mean, Objective


def labelled_objective(model: RobertaWithHead, groups: LayerGroups) -> Objective:
    """For batches of `LabelledData.batch`; dropout is on, where the model has it."""

    def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
        kind = jnp.dtype(params["embed"]["table"].dtype).name
        running = replace(model, body=replace(model.body, dtype=kind))
        out = running.apply(
            groups.held(params),
            batch["tokens"],
            keys={"dropout": key},
            lengths=batch["lengths"],
            positions=full_positions(model.config, batch["tokens"].shape[1]),
        ).astype(jnp.float32)
        targets, mask = batch["targets"], batch["mask"]
        weight = mask.sum()
        if isinstance(model.head, RegressionHead):
            return Loss((mask * jnp.square(out - targets)).sum(), weight, {}, collections)
        nats = -jnp.take_along_axis(jax.nn.log_softmax(out), targets[..., None], axis=-1)[..., 0]
        right = (mask * (out.argmax(axis=-1) == targets)).sum()
        metrics = {"accuracy": Mean(right, weight)}
        return Loss((mask * nats).sum(), weight, metrics, collections)

    return Objective(loss)
