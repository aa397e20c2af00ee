"""The held-out loss: exact totals over batches that are always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from barrow.errors import StoreError
from barrow.stream import Mixture, Stream
from barrow.train.objective import Mean, Objective
from barrow.train.placement import Placement
from barrow.train.precision import Precision
from barrow.train.run import Run
from barrow.train.state import TrainState

Evaluate = Callable[[TrainState, Iterable[Any]], Mean]


def make_evaluate(objective: Objective, precision: Precision, placement: Placement) -> Evaluate:
    """The mean of a loss over batches, in the numbers of the computation.

    Totals and weights are added in float64 on the host, so that the mean is that of all tokens,
    however they were divided into batches.
    """

    @jax.jit
    def one(params: Any, collections: Any, batch: Any, key: jax.Array) -> Mean:
        used = placement.laid(precision.cast(params), placement.zero.params)
        loss = objective.loss(precision.prepared(used), collections, batch, key)
        return Mean(loss.total, loss.weight)

    def evaluate(state: TrainState, batches: Iterable[Any]) -> Mean:
        parts = [one(state.params, state.collections, batch, state.key) for batch in batches]
        total = sum(float(part.total) for part in parts)
        weight = sum(float(part.weight) for part in parts)
        return Mean(np.float64(total), np.float64(weight))  # type: ignore[arg-type]

    return evaluate


def held_out_stream(run: Run, trained_on: Stream) -> Stream | None:
    """The held-out store, each of its domains read once, in rows as the run's; None without one."""
    if run.held_out is None:
        return None
    natural = Stream(run.held_out, seed=0, seq_len=run.seq_len, batch=max(run.batches))
    store = natural.store
    if store.tokenizer_hash != trained_on.store.tokenizer_hash:
        raise StoreError(
            f"the held-out store was made with tokenizer {store.tokenizer_hash[:16]}, the one that "
            f"is trained on with {trained_on.store.tokenizer_hash[:16]}: tokenize both alike",
            reason="other-tokenizer",
            file=str(store.folder),
        )
    mixture = natural.settings.schedule.phases[0].mixture
    return Stream(
        store,
        seed=run.data.seed,
        seq_len=run.seq_len,
        batch=max(run.batches),
        mixture=Mixture(epochs=dict.fromkeys(mixture.amounts, 1.0)),
        packing=run.data.packing,
        buckets=run.data.buckets,
        pad=run.data.pad,
    )
