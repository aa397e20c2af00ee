"""Vectors of texts: hidden states of one layer, pooled, for rows of any lengths in any number.

Rows are read a bounded number ahead, sorted by length, and computed in batches of similar lengths;
results come in the order of the rows. Padding is masked, so a row's vector does not depend on its
neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.buckets import bucket
from barrow.models.onnx.model import OnnxModel
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.models.row_batches import Batch, batches
from barrow.models.rows import padded

Pool = Literal["mean", "cls", "max"]
Vectors = npt.NDArray[np.float32]

# Tokens in a batch: what fits the caches of a CPU, or fills an accelerator.
_ON_CPU, _ELSEWHERE = 4096, 16384


def embed(
    model: Roberta | RobertaWithHead | OnnxModel,
    params: Mapping[str, Any],
    rows: Iterable[Sequence[int] | npt.NDArray[np.integer]],
    *,
    layer: int = -1,
    pool: Pool = "mean",
    tokens: int | None = None,
    ahead: int = 8192,
) -> Iterator[Vectors]:
    """Vectors of rows of tokens, in their order, in blocks [up to `ahead`, width].

    `layer` 0 is what goes into the first layer, 1 what comes out of it, −1 the last. `pool` is the
    "mean" or the "max" over all tokens of a row, begin and end among them, or "cls", the first.
    `tokens` bounds a batch, padding counted.
    """
    if pool not in get_args(Pool):
        raise ValueError(f"pool must be mean, cls or max, got {pool!r}")
    if ahead < 1 or (tokens is not None and tokens < 1):
        raise ValueError("ahead and tokens must be ≥ 1")
    run: Callable[..., Any]
    if isinstance(model, OnnxModel):
        if layer not in (-1, model.config.layers):
            raise ValueError(
                f"an exported graph gives the last hidden states: layer -1, got {layer}"
            )
        run = partial(_pooled_by_onnx, model, pool=pool)
    else:
        body, params, number = up_to_layer(model, params, layer)
        run = partial(_pooled, body, params, layer=number, pool=pool)
    return _blocks(model.config, run, iter(rows), tokens, ahead)


def _blocks(
    config: RobertaConfig,
    pooled: Callable[..., Any],
    rows: Iterator[Any],
    tokens: int | None,
    ahead: int,
) -> Iterator[Vectors]:
    while window := list(islice(rows, ahead)):
        found = np.empty((len(window), config.width), np.float32)
        running = []
        for batch in batches_of(window, config.context, tokens):
            some = [window[i] for i in batch.rows]
            array, lengths = padded(some, config=config, num_rows=batch.num_rows)
            whole = bool((lengths == array.shape[1]).all())
            out = pooled(array, None if whole else lengths)
            running.append((batch.rows, out))
        for places, out in running:
            found[list(places)] = np.asarray(out)[: len(places)]
        yield found


def batches_of(rows: Sequence[Any], context: int, tokens: int | None = None) -> list[Batch]:
    """Rows that are computed together, of about equal lengths, within so many tokens."""
    empty = next((number for number, row in enumerate(rows) if not len(row)), None)
    if empty is not None:
        raise ValueError(f"row {empty} has no tokens")
    most = tokens or (_ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE)
    lengths = [len(row) for row in rows]
    return batches(lengths, max_length=context, batch_tokens=most, length_of=bucket)


def up_to_layer(
    model: Roberta | RobertaWithHead, params: Mapping[str, Any], layer: int
) -> tuple[Roberta, Mapping[str, Any], int]:
    """The model without the layers past one, for inference; its parameters; and which it is."""
    body = model.body if isinstance(model, RobertaWithHead) else model
    num = body.config.layers
    if not -num - 1 <= layer <= num:
        raise ValueError(
            f"layer must be from 0 (the embeddings) to {num}, or −1 to −{num + 1} from the "
            f"end, got {layer}"
        )
    layer = layer % (num + 1)
    kept = max(1, layer)
    if kept < num:
        layers = params["layers"]
        if not isinstance(layers, tuple):
            layers = jax.tree.map(lambda x: x[:kept], layers)
        else:
            layers = layers[:kept]
        params = {**params, "layers": layers}
        body = replace(body, config=replace(body.config, layers=kept))
    return for_inference(body, params), params, layer


def for_inference(body: Roberta, params: Mapping[str, Any]) -> Roberta:
    """The model as it runs quickest without gradients, for stacked or unstacked layers."""
    backend = body.backend
    if backend == "auto" and jax.default_backend() == "cpu":
        backend = "rows"
    return replace(body, unroll=isinstance(params["layers"], tuple), remat=None, backend=backend)


def _pooled_by_onnx(
    model: OnnxModel, tokens: npt.NDArray[Any], lengths: npt.NDArray[Any] | None, *, pool: Pool
) -> Vectors:
    return np.asarray(_pool(jnp.asarray(model.hidden(tokens, lengths)), lengths, pool))


@partial(jax.jit, static_argnames=("body", "layer", "pool"))
def _pooled(
    body: Roberta,
    params: Mapping[str, Any],
    tokens: jax.Array,
    lengths: jax.Array | None,
    *,
    layer: int,
    pool: Pool,
) -> jax.Array:
    last: jax.Array
    if layer == 0:
        last = body.apply(params, tokens, method=body.embedded)
    else:
        last = body.apply(params, tokens, lengths=lengths)
    return _pool(last.astype(jnp.float32), lengths, pool)


def _pool(hidden: jax.Array, lengths: Any, pool: Pool) -> jax.Array:
    if pool == "cls":
        return hidden[:, 0]
    length = hidden.shape[1]
    if lengths is None:
        return hidden.mean(axis=1) if pool == "mean" else hidden.max(axis=1)
    real = (jnp.arange(length) < lengths[:, None])[..., None]
    if pool == "mean":
        mean: jax.Array = jnp.where(real, hidden, 0).sum(axis=1) / lengths[:, None]
        return mean
    return jnp.where(real, hidden, -jnp.inf).max(axis=1)
