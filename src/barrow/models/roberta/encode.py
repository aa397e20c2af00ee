"""Vectors of texts: hidden states of one layer, pooled, for rows of any lengths in any number.

Rows are read a bounded number ahead, sorted by length, and computed in batches of similar lengths;
results come in the order of the rows. Padding is masked, so a row's vector does not depend on its
neighbours. Where a kernel attends to short rows, several texts are packed into one of 128 places.
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

from barrow.models.buckets import bucket, row_bucket
from barrow.models.onnx.model import OnnxModel
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.models.row_batches import Batch, batches
from barrow.models.row_packing import packing
from barrow.models.rows import padded
from barrow.nn.attention.short_attention import has_kernel
from barrow.nn.attention.short_kernel import MOST
from barrow.nn.attention.visible import Visible
from barrow.nn.compiled import jitted

Pool = Literal["mean", "cls", "max"]
Vectors = npt.NDArray[np.float32]

# Tokens in a batch: what fits the caches of a CPU, or fills an accelerator.
_ON_CPU, _ELSEWHERE = 4096, 16384
# Texts in a packed row, and for each row of a batch on average.
_MOST, _MEAN = 32, 8


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
    together = None
    if isinstance(model, OnnxModel):
        if layer not in (-1, model.config.layers):
            raise ValueError(
                f"an exported graph gives the last hidden states: layer -1, got {layer}"
            )
        run = partial(_pooled_by_onnx, model, pool=pool)
    else:
        body, params, number = up_to_layer(model, params, layer)
        run = partial(_pooled, body, params, layer=number, pool=pool)
        if packs(body):
            together = partial(_pooled_together, body, params, layer=number, pool=pool)
    return _blocks(model.config, run, together, iter(rows), tokens, ahead)


def packs(body: Roberta) -> bool:
    """Whether texts are packed: where there is a kernel for attention to short rows."""
    config = body.config
    shape = (1, min(MOST, config.context), config.heads, config.width // config.heads)
    is_auto = body.backend == "auto"
    return is_auto and has_kernel(shape, shape[1], config.heads, jnp.dtype(body.dtype), Visible())


def _blocks(
    config: RobertaConfig,
    pooled: Callable[..., Any],
    together: Callable[..., Any] | None,
    rows: Iterator[Any],
    tokens: int | None,
    ahead: int,
) -> Iterator[Vectors]:
    capacity = 0 if together is None else min(MOST, config.context)
    while window := list(islice(rows, ahead)):
        _refuse_empty(window)
        found = np.empty((len(window), config.width), np.float32)
        running = []
        is_short = np.fromiter((len(row) <= capacity for row in window), bool, len(window))
        long = np.flatnonzero(~is_short)
        for batch in batches_of([window[i] for i in long], config.context, tokens):
            places = long[list(batch.rows)]
            some = [window[i] for i in places]
            array, lengths = padded(some, config=config, num_rows=batch.num_rows)
            whole = bool((lengths == array.shape[1]).all())
            running.append((places, pooled(array, None if whole else lengths)))
        if together is not None:
            short = np.flatnonzero(is_short)
            texts = [window[i] for i in short]
            for places, arrays in packed_batches(texts, config, capacity, tokens):
                running.append((short[places], together(*arrays)))
        for places, out in running:
            found[places] = np.asarray(out)[: len(places)]
        yield found


def packed_batches(
    texts: Sequence[Any],
    config: RobertaConfig,
    capacity: int,
    tokens: int | None = None,
) -> Iterator[tuple[npt.NDArray[np.int64], tuple[npt.NDArray[np.int32], ...]]]:
    """Numbers of texts that are computed together, and the arguments of `_pooled_together`."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    where = packing(lengths, capacity, _MOST)
    most = max(1, (tokens or _ELSEWHERE) // capacity)
    by_row = np.argsort(where.row, kind="stable")
    counts = np.bincount(where.row, minlength=where.num_rows)
    ends = np.cumsum(counts)
    first = 0
    while first < where.num_rows:
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + _MEAN * most, side="right"))
        last = min(max(last, first + 1), first + most, where.num_rows)
        places = by_row[before : ends[last - 1]]
        num_rows = row_bucket(last - first, most)
        starts = (where.row[places] - first) * capacity + where.start[places]
        yield places, _packed([texts[i] for i in places], starts, num_rows, capacity, config)
        first = last


def _packed(
    texts: Sequence[Any], starts: npt.NDArray[Any], num_rows: int, capacity: int, config: Any
) -> tuple[npt.NDArray[np.int32], ...]:
    """Tokens, positions and numbers of texts [rows, capacity]; starts and lengths [texts]."""
    num = max(_MEAN * num_rows, row_bucket(len(texts)))
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    before = np.cumsum(lengths) - lengths
    given = np.concatenate([np.asarray(text, np.int32) for text in texts])
    at = np.repeat(starts - before, lengths) + np.arange(len(given))
    # As `padded_positions` counts them.
    is_real = given != config.pad
    count = np.cumsum(is_real)
    count = count - np.repeat(count[before] - is_real[before], lengths)
    tokens = np.full(num_rows * capacity, config.pad, np.int32)
    positions, numbers = tokens.copy(), np.full_like(tokens, num)
    tokens[at] = given
    positions[at] = count * is_real + config.pad
    numbers[at] = np.repeat(np.arange(len(texts)), lengths)
    whole = [np.zeros(num, np.int32), np.ones(num, np.int32)]
    whole[0][: len(texts)], whole[1][: len(texts)] = starts, lengths
    return *(x.reshape(num_rows, capacity) for x in (tokens, positions, numbers)), *whole


@partial(jitted, static_argnames=("body", "layer", "pool"))
def _pooled_together(
    body: Roberta,
    params: Mapping[str, Any],
    tokens: jax.Array,
    positions: jax.Array,
    numbers: jax.Array,
    starts: jax.Array,
    lengths: jax.Array,
    *,
    layer: int,
    pool: Pool,
) -> jax.Array:
    """Vectors [texts, width]; `numbers` [rows, places] are those of the texts, more for padding."""
    if layer == 0:
        hidden = body.apply(params, tokens, method=body.embedded, positions=positions)
    else:
        hidden = body.apply(params, tokens, positions=positions, segments=numbers)
    hidden = hidden.reshape(-1, hidden.shape[-1])
    num, of = len(starts), numbers.reshape(-1)
    found: jax.Array
    if pool == "cls":
        found = hidden[starts].astype(jnp.float32)
    elif pool == "max":
        found = jax.ops.segment_max(hidden.astype(jnp.float32), of, num + 1)[:num]
    else:
        is_in = (of == jnp.arange(num)[:, None]).astype(hidden.dtype)
        found = jnp.dot(is_in, hidden, preferred_element_type=jnp.float32) / lengths[:, None]
    return found


def batches_of(rows: Sequence[Any], context: int, tokens: int | None = None) -> list[Batch]:
    """Rows that are computed together, of about equal lengths, within so many tokens."""
    _refuse_empty(rows)
    most = tokens or (_ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE)
    lengths = [len(row) for row in rows]
    return batches(lengths, max_length=context, batch_tokens=most, length_of=bucket)


def _refuse_empty(rows: Sequence[Any]) -> None:
    empty = next((number for number, row in enumerate(rows) if not len(row)), None)
    if empty is not None:
        raise ValueError(f"row {empty} has no tokens")


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


@partial(jitted, static_argnames=("body", "layer", "pool"))
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
