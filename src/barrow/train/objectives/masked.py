"""The objective of masked language models: nats of each masked token.

The head, a third of a small model's work, is computed only where tokens are masked. Programs have
fixed shapes, so a fixed number of places is gathered from every few rows, enough for all but one
batch in some thousands; a batch with more computes the head everywhere. Both ways give the same
sum: no masked token is left out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.roberta.model import Roberta, RobertaConfig, full_positions, head_weight
from barrow.nn.cross_entropy import cross_entropy
from barrow.nn.trace import Constrain
from barrow.stream.rows.masking import Mlm
from barrow.train.objectives.objective import Loss, Objective, check_token_arrays

# Rows that share their room: more rows need less each, and devices keep their own.
_ROWS = 8
# Standard deviations above the expected number; whole-word masking varies more.
_ABOVE, _ABOVE_WORDS = 4.0, 8.0
# Rounded up for matrix units.
_MULTIPLE = 8


def masked_objective(
    model: Roberta,
    mlm: Mlm,
    *,
    mask_documents: bool = True,
    constrain: Constrain | None = None,
) -> Objective:
    """For batches with tokens, targets, mask, segments and positions [rows, length].

    `mask` is true where a token is masked, and `targets` has the token. With `mask_documents`,
    documents are masked from each other; else a row is read as one, without its padding.
    Activations have the type of the parameters, which the step's precision chose.
    """
    config = model.config

    def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
        check_token_arrays(batch, "targets", "mask", "segments", "positions")
        table, bias, transposed = head_weight(config, params)
        run = replace(model, dtype=jnp.dtype(table.dtype).name)
        rows, length = batch["tokens"].shape
        read = masked_read(config, batch, mask_documents=mask_documents)
        hidden = run.apply(
            params,
            batch["tokens"],
            keys={"dropout": key} if config.dropout else None,
            constrain=constrain,
            **read,
        )

        def nats(hidden: jax.Array, targets: jax.Array, weights: jax.Array) -> jax.Array:
            states = run.apply(params, hidden, method=run.head_states, constrain=constrain)
            return cross_entropy(states, table, targets, weights, bias=bias, transposed=transposed)

        # Groups of consecutive rows, so that each is on one device.
        num = math.gcd(rows, _ROWS)
        places = num * length
        hidden, targets, mask = (
            x.reshape(rows // num, places, *x.shape[2:])
            for x in (hidden, batch["targets"], batch["mask"] != 0)
        )
        room = room_for(places, mlm)
        counts = mask.sum(axis=1)

        def gathered() -> jax.Array:
            at = _first(mask, room)
            weights = jnp.arange(room) < counts[:, None]
            return nats(_taken(hidden, at), _taken(targets, at), weights)

        def whole() -> jax.Array:
            return nats(hidden, targets, mask)

        fits = (counts <= room).all()
        total = jax.lax.cond(fits, gathered, whole) if room < places else whole()
        return Loss(total, counts.sum().astype(jnp.float32), {}, collections)

    return Objective(loss)


def masked_read(config: RobertaConfig, batch: Any, *, mask_documents: bool) -> dict[str, Any]:
    """How a batch's rows are read: arguments of `Roberta.forward`."""
    if mask_documents:
        return {"segments": batch["segments"], "positions": batch["positions"] + config.pad + 1}
    lengths = (batch["segments"] > 0).sum(axis=1)
    positions = full_positions(config, batch["tokens"].shape[1])
    return {"lengths": lengths, "positions": positions}


def room_for(places: int, mlm: Mlm) -> int:
    """The number of masked tokens to make room for, out of so many positions."""
    share = mlm.probability
    above = _ABOVE_WORDS if mlm.whole_word else _ABOVE
    wanted = places * share + above * math.sqrt(places * share * (1 - share))
    return min(places, _MULTIPLE * max(1, math.ceil(wanted / _MULTIPLE)))


def _first(mask: jax.Array, num: int) -> jax.Array:
    """Different positions: the first `num` that are true in each row, then some past its end."""
    counted = jnp.cumsum(mask.astype(jnp.int32), axis=1)
    at = jax.vmap(lambda row: jnp.searchsorted(row, jnp.arange(1, num + 1)))(counted)
    return jnp.where(at < mask.shape[1], at, mask.shape[1] + jnp.arange(num))


def _taken(x: jax.Array, at: jax.Array) -> jax.Array:
    """What is at different positions of each row; 0 past its end.

    As they are different, the gradient has one term for each place: no order of sums to keep.
    """

    def row(x: jax.Array, at: jax.Array) -> jax.Array:
        return x.at[at].get(mode="fill", fill_value=0, unique_indices=True)

    return jax.vmap(row)(x, at)
