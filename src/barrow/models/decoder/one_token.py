"""The decoder for one token of each row, as few kernels: five a layer on a Hopper GPU.

`Decoder` is the definition. Here the norms are computed in the products that follow them, biases,
activations and residuals in those before them, and attention appends to its cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.decoder.model import Decoder
from barrow.nn.attention.cache import Cache
from barrow.nn.attention.row_kernel import append_and_attend
from barrow.nn.layers.activations import activation
from barrow.nn.row_products import Around, Held, Norm, has_kernel, row_products
from barrow.nn.tree import Tree
from barrow.nn.weights.row_weight import RowWeight, in_rows

# Traced and lowered once, not for each layer.
_products = partial(jax.jit, static_argnames=("act", "is_gated"))(row_products)


def for_one_token(model: Decoder, params: Tree, batch: int) -> Tree:
    """Parameters as `one_token` needs them, where it takes this model, else as they are.

    It is a copy, to be made once for many calls; where memory has no room for it, they stay too.
    """
    if takes(params):
        return params
    config = model.config
    rotary = config.rotary
    is_plain = (
        config.norms == "pre"
        and (config.qk_norm, config.experts, config.window, config.sparse) == (None,) * 4
        and (rotary is None or rotary.dim in (None, config.size_of_head))
    )
    table: Any = jax.ShapeDtypeStruct((config.vocab_size, config.width), jnp.bfloat16)
    shape, act = (batch, config.width), activation(config.activation)
    fits = is_plain and has_kernel(shape, jnp.dtype(model.dtype), (Held(table),), act)
    return _in_rows(params, model.dtype) if fits and _has_room(params) else params


_in_rows = partial(jax.jit, static_argnames="dtype")(in_rows)


def _has_room(params: Any) -> bool:
    known = jax.local_devices()[0].memory_stats() or {}
    left = known.get("bytes_limit", 0) - known.get("bytes_in_use", 0)
    size: int = sum(x.nbytes for x in jax.tree.leaves(params))
    return bool(1.1 * size < left)


def takes(params: Mapping[str, Any]) -> bool:
    """Whether `one_token` takes these parameters: all weights have their outputs first."""
    weights = [*_weights(params["layers"]), *_weights(params.get("head", {}))]
    return all(isinstance(weight, RowWeight) for weight in weights)


def _weights(params: Any) -> list[Any]:
    if isinstance(params, tuple):
        return [found for one in params for found in _weights(one)]
    if not isinstance(params, Mapping):
        return []
    inside = [found for one in params.values() for found in _weights(one)]
    return [*inside, params["kernel"]] if "kernel" in params else inside


def one_token(
    model: Decoder, params: Tree, tokens: jax.Array, real: jax.Array, caches: tuple[Cache, ...]
) -> tuple[jax.Array, tuple[Cache, ...]]:
    """Logits [batch, vocab] after one more token of each row, and the caches.

    Rows that are not `real` (0 or 1) do not grow.
    """
    config = model.config
    dim, lengths = config.size_of_head, caches[0].lengths
    dtype = jnp.dtype(model.dtype)
    act, num = activation(config.activation), len(tokens)

    def norm(params: Mapping[str, jax.Array]) -> Norm:
        is_centred = config.norm == "layer"
        return Norm(params["scale"], params.get("bias"), config.norm_eps, is_centred)

    def products(x: jax.Array, denses: list[Any], **how: Any) -> tuple[jax.Array, ...]:
        around = Around(
            how.pop("norm", None),
            tuple(dense["bias"].reshape(-1) for dense in denses if "bias" in dense),
            how.pop("residual", None),
        )
        held = tuple(dense["kernel"].held for dense in denses)
        found: tuple[jax.Array, ...] = _products(x, held, around, **how)
        return found

    x = _rows(params["embed"]["table"], tokens).astype(dtype)
    turn = None
    if config.rotary is None:
        x = x + _rows(params["positions"]["table"], lengths).astype(dtype)
    else:
        frequencies = jnp.asarray(config.rotary.frequencies(dim), jnp.float32)
        angles = lengths.astype(jnp.float32)[:, None] * frequencies
        turn = jnp.cos(angles), jnp.sin(angles)
    after = []
    for layer, cache in zip(params["layers"], caches, strict=True):
        attention, mlp = layer["attention"], layer["mlp"]
        first = [attention[name] for name in ("q", "k", "v")]
        q, k, v = products(x, first, norm=norm(layer["attention_norm"]))
        q, k, v = (one.reshape(num, -1, dim) for one in (q, k, v))
        caches_of = cache.keys, cache.values
        y, keys, values = append_and_attend(q, k, v, *caches_of, lengths, turn, scale=dim**-0.5)
        after.append(replace(cache, keys=keys, values=values, lengths=cache.lengths + real))
        (x,) = products(y.reshape(num, -1), [attention["out"]], residual=x)
        grow = [mlp[name] for name in ("gate", "up") if name in mlp]
        between = norm(layer["mlp_norm"])
        (y,) = products(x, grow, norm=between, act=act, is_gated=config.gated)
        (x,) = products(y, [mlp["down"]], residual=x)
    head = params["embed"]["table"] if config.tied else params["head"]["kernel"]
    (logits,) = products(x, [{"kernel": head}], norm=norm(params["norm"]))
    return logits, tuple(after)


def _rows(table: Any, ids: jax.Array) -> jax.Array:
    if isinstance(table, jax.Array):
        return jnp.take(table, ids, axis=0, mode="fill")
    found: jax.Array = table.rows(ids)
    return found
