"""Outputs of a model's head for rows of tokens, in order, without dropout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.onnx.model import OnnxModel
from barrow.models.roberta.encode import batches_of, for_inference
from barrow.models.roberta.heads import RobertaWithHead, TokenHead
from barrow.models.roberta.model import full_positions
from barrow.models.rows import padded


def head_outputs(
    model: RobertaWithHead | OnnxModel,
    params: Mapping[str, Any],
    rows: Sequence[npt.NDArray[np.integer]],
    *,
    tokens: int | None = None,
) -> list[npt.NDArray[np.float32]]:
    """Of each row: logits [num] of classes, one number [] of a regression, logits [length, num] of
    tags.

    Rows of similar lengths are computed together, in batches of up to `tokens`; padding is masked,
    so a row's output does not depend on its neighbours.
    """
    if tokens is not None and tokens < 1:
        raise ValueError(f"tokens must be ≥ 1, got {tokens}")
    run: Callable[..., Any]
    if isinstance(model, OnnxModel):
        run = model.outputs
    else:
        run = partial(_outputs, replace(model, body=for_inference(model.body, params)), params)
    started = []
    for batch in batches_of(rows, model.config.context, tokens):
        some = [rows[i] for i in batch.rows]
        array, lengths = padded(some, config=model.config, num_rows=batch.num_rows)
        started.append((batch.rows, run(array, lengths)))
    found: list[Any] = [None] * len(rows)
    for places, out in started:
        for place, one in zip(places, np.asarray(out), strict=False):
            found[place] = one[: len(rows[place])] if isinstance(model.head, TokenHead) else one
    return found


@partial(jax.jit, static_argnames=("model",))
def _outputs(
    model: RobertaWithHead, params: Mapping[str, Any], tokens: jax.Array, lengths: jax.Array
) -> jax.Array:
    positions = full_positions(model.config, tokens.shape[1])
    out: jax.Array = model.apply(params, tokens, lengths=lengths, positions=positions)
    return out.astype(jnp.float32)
