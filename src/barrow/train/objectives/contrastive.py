"""The objective of CLIP: match each image to its text among all of the batch, and the reverse.

Logits are scale · cosine of every image with every text of the global batch; the loss is the mean
of the cross-entropies of its rows and of its columns. A pair's loss depends on all other pairs, so
a batch is never split: over devices, every image still meets every text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from barrow.images.normalise import normalise
from barrow.models.clip.model import CLIP, MAX_SCALE, normalised
from barrow.nn.trace import Constrain
from barrow.train.objectives.objective import Loss, Mean, Objective, check_arrays

SCALE = "logit_scale"
# The largest float32 whose exponential is not above the largest scale.
MAX_LOGIT_SCALE = np.nextafter(np.float32(math.log(MAX_SCALE)), np.float32(0))


def contrastive_objective(
    model: CLIP,
    *,
    mutable: tuple[str, ...] = (),
    constrain: Constrain | None = None,
) -> Objective:
    """For batches with images uint8 [pairs, side, side, 3], texts [pairs, length] and mask [pairs].

    Pairs of mask 0 (padding of a last batch) are not compared with anything. Metrics are the top-1
    accuracies of images to texts and of texts to images (a tie of n counts 1/n), and the scale.
    `mutable` are collections that training changes (`batch_stats`). Activations have the type of
    the parameters, which the step's precision chose.
    """

    def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
        del key  # no dropout
        _refuse_other_arrays(batch)
        dtype = params["text"]["embed"]["table"].dtype
        run = replace(model, running=replace(model.running, dtype=jnp.dtype(dtype).name))
        inputs = normalise(batch["images"]), batch["texts"]
        (images, texts, scale), collections = _apply(
            run, params, collections, inputs, mutable, constrain
        )
        mask = batch["mask"] != 0
        images, texts = normalised(images), normalised(texts)
        logits = scale * jnp.einsum("ie,te->it", images, texts, precision="highest")
        if constrain is not None:
            logits = constrain(logits, ("batch", None))
        logits = jnp.where(mask[:, None] & mask[None, :], logits, -1e30)
        own = jnp.diagonal(logits)
        of_rows = jax.nn.logsumexp(logits, axis=1) - own
        of_columns = jax.nn.logsumexp(logits, axis=0) - own
        num = mask.sum().astype(jnp.float32)
        total = jnp.sum(jnp.where(mask, (of_rows + of_columns) / 2, 0.0))
        metrics = {
            "image_to_text": Mean(_first(logits, own, mask, 1), num),
            "text_to_image": Mean(_first(logits, own, mask, 0), num),
            "scale": Mean(jax.lax.stop_gradient(scale) * num, num),
        }
        return Loss(total, num, metrics, collections)

    return Objective(loss, is_sum_over_rows=False)


def scale_kept(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """An optimizer that clips the scale to 100, as in CLIP's paper."""

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        held = params[SCALE]
        room = (MAX_LOGIT_SCALE - held).astype(updates[SCALE].dtype)
        return updates | {SCALE: jnp.minimum(updates[SCALE], room)}, state

    return optax.chain(
        optimizer, optax.GradientTransformation(lambda _: optax.EmptyState(), update)
    )


def _apply(
    model: CLIP,
    params: Any,
    collections: Any,
    inputs: tuple[jax.Array, jax.Array],
    mutable: tuple[str, ...],
    constrain: Constrain | None,
) -> tuple[Any, Any]:
    if not mutable:
        return model.apply(params, *inputs, collections=collections, constrain=constrain), (
            collections
        )
    return model.apply_and_collect(
        params, *inputs, mutable=mutable, collections=collections, constrain=constrain
    )


def _first(logits: jax.Array, own: jax.Array, mask: jax.Array, axis: int) -> jax.Array:
    """How many have their own as the largest logit; a tie of n counts 1/n.

    Pairs with the same caption tie; counting all of them would make a constant model perfect.
    """
    logits, own = jax.lax.stop_gradient((logits, own))
    best = logits.max(axis=axis)
    num = (logits == jnp.expand_dims(best, axis)).sum(axis=axis)
    return jnp.sum(jnp.where((own >= best) & mask, 1 / num, 0.0))


def _refuse_other_arrays(batch: Mapping[str, Any]) -> None:
    wanted = ("images", "texts", "mask")
    check_arrays(batch, *wanted)
    shapes = {name: jnp.shape(batch[name]) for name in wanted}
    if tuple(len(shape) for shape in shapes.values()) != (4, 2, 1):
        raise ValueError(
            "a batch must have images [pairs, side, side, 3], texts [pairs, length] and "
            "mask [pairs], got "
            f"{', '.join(f'{name} {shape}' for name, shape in shapes.items())}"
        )
