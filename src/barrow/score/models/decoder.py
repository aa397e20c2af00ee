"""Our causal models as a `TokenModel`: jitted, in batches of similar length, on all devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, cast

import jax
import numpy as np
import numpy.typing as npt

from barrow.models.decoder.next_token_nats import (
    layers_apart,
    next_token_nats,
    next_token_nats_on_cpu,
)
from barrow.models.family import CausalModule
from barrow.models.row_batches import Batch, batches
from barrow.parallel import make_mesh, num_row_shards, rows_sharding, whole
from barrow.tokens import Tokenizer


class DecoderTokenModel:
    """A causal model and its parameters under `TokenModel`.

    Rows are sorted by length, padded at the end (which a causal model does not see) and computed
    `batch_tokens` at a time, divided over `devices` (by default this process's). With `tensor`, so
    many devices share each row, and the parameters: these are there already (`parallel.placing`).
    """

    def __init__(
        self,
        model: CausalModule,
        params: Mapping[str, Any],
        tokenizer: Tokenizer,
        *,
        batch_tokens: int | None = None,
        devices: Sequence[Any] | None = None,
        tensor: int = 1,
    ) -> None:
        if tokenizer.vocab_size > model.config.vocab_size:
            raise ValueError(
                f"the tokenizer has ids up to {tokenizer.vocab_size - 1}, but the model's "
                f"vocabulary is {model.config.vocab_size}: do they match?"
            )
        self.tokenizer = tokenizer
        self.max_length: int | None = model.config.context
        devices = jax.local_devices() if devices is None else devices
        on_cpu = devices[0].platform == "cpu"
        self.batch_tokens = batch_tokens or default_batch_tokens(on_cpu=on_cpu)
        model, params = layers_apart(model, params)
        if on_cpu and len(devices) == 1 and getattr(model, "backend", None) == "auto":
            # Row after row the scores of attention stay in the cache. Rows that are divided over
            # devices would all be brought to each of them.
            model = replace(cast("Any", model), backend="rows")
        self._mesh = make_mesh(devices=devices, tensor=tensor)
        self._params = params if tensor > 1 else jax.device_put(params, whole(self._mesh))
        self._nats = _program(model, on_cpu)

    def log_probs(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float32]]:
        """As in `TokenModel`."""
        assert self.max_length is not None
        made = batches(
            [len(row) - 1 for row in rows],
            max_length=self.max_length,
            batch_tokens=self.batch_tokens,
            multiple=num_row_shards(self._mesh),
        )
        # All are dispatched before the first is awaited, so the device is never idle.
        computed = [(batch, self._compute(batch, rows)) for batch in made]
        found: list[npt.NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(rows)
        for batch, nats in computed:
            array = np.asarray(nats)
            for k, number in enumerate(batch.rows):
                found[number] = -array[k, : len(rows[number]) - 1]
        return found

    def _compute(self, batch: Batch, rows: Sequence[npt.NDArray[np.int32]]) -> jax.Array:
        ids = np.zeros((batch.num_rows, batch.length + 1), np.int32)
        for k, number in enumerate(batch.rows):
            ids[k, : len(rows[number])] = rows[number]
        nats: jax.Array = self._nats(self._params, jax.device_put(ids, rows_sharding(self._mesh)))
        return nats


def _program(model: CausalModule, on_cpu: bool) -> Any:
    """Kept for the next parameters of the same model: a search scores many of them."""
    try:
        return _kept(model, on_cpu)
    except TypeError:  # a model of someone's own that has no hash
        return _kept.__wrapped__(model, on_cpu)


@lru_cache(maxsize=4)
def _kept(model: CausalModule, on_cpu: bool) -> Any:
    return jax.jit(partial(next_token_nats_on_cpu if on_cpu else next_token_nats, model))


def default_batch_tokens(*, on_cpu: bool) -> int:
    """Tokens computed at once, padding included."""
    return 4096 if on_cpu else 65536
