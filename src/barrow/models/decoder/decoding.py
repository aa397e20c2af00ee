"""The two compiled programs of generation: prefill, and the decoding loop.

They are two, not one, because the first token needs only the first; a stream then runs the second
in pieces. Layers are unrolled and unstacked, so that each weight is read once per token and caches
are updated in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.models.decoder.model import Decoder, empty_caches
from barrow.models.decoder.one_token import one_token, takes
from barrow.models.decoder.sampling import Chooser, choose
from barrow.nn.attention.cache import Cache
from barrow.nn.tree import Tree


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """The state of generation: `last` [batch] is chosen but not yet read by the model.

    `num` [batch] counts tokens chosen, which with a row's key gives the key of the next choice;
    `done` rows have reached a stop.
    """

    caches: tuple[Cache, ...]
    last: jax.Array
    num: jax.Array
    done: jax.Array
    keys: jax.Array


@partial(jax.jit, static_argnames=("model", "capacity"))
def prefill(
    model: Decoder,
    params: Tree,
    tokens: jax.Array,
    lengths: jax.Array,
    keys: jax.Array,
    how: Chooser,
    stops: jax.Array,
    *,
    capacity: int,
) -> State:
    """Read prompts [batch, length], of which `lengths` count, and choose the next token of each."""
    batch, length = tokens.shape
    caches = empty_caches(model.config, batch, length, jnp.dtype(model.dtype))
    logits, caches = model.apply(params, tokens, lengths=lengths, caches=caches, at=lengths - 1)
    num = jnp.zeros((batch,), jnp.int32)
    last = choose(how, logits[:, 0], _keys(keys, num))
    grown = tuple(cache.grown(capacity) for cache in caches)
    return State(grown, last, num + 1, _is_stop(last, stops), keys)


@partial(jax.jit, static_argnames=("model", "room"), donate_argnames=("state",))
def decode(
    model: Decoder,
    params: Tree,
    state: State,
    how: Chooser,
    stops: jax.Array,
    limit: jax.Array,
    *,
    room: int,
) -> tuple[State, jax.Array]:
    """Up to `limit` more tokens of each row, [batch, room]; −1 after a row's stop.

    Ends early when every row has reached a stop. `room` is part of the program, `limit` is not.
    """
    batch, turns = state.last.shape[0], _tokens_of_a_turn()
    is_short = takes(params)

    def go_on(carry: Any) -> Any:
        step, now, *_ = carry
        return (step < limit) & ~jnp.all(now.done)

    def one(_: Any, carry: Any) -> Any:
        step, now, lengths, out = carry
        now = _with_lengths(now, lengths)
        is_open = ~now.done & (step < limit)
        real = is_open.astype(jnp.int32)
        if is_short:
            logits, caches = one_token(model, params, now.last, real, now.caches)
        else:
            tokens = now.last[:, None]
            logits, caches = model.apply(params, tokens, lengths=real, caches=now.caches)
            logits = logits[:, 0]
        chosen = choose(how, logits, _keys(now.keys, now.num))
        out = lax.dynamic_update_slice(out, jnp.where(is_open, chosen, -1)[:, None], (0, step))
        after = replace(
            now,
            caches=caches,
            last=jnp.where(is_open, chosen, now.last),
            num=now.num + real,
            done=now.done | (is_open & _is_stop(chosen, stops)),
        )
        return step + 1, _with_lengths(after, None), caches[0].lengths, out

    def several(carry: Any) -> Any:
        return lax.fori_loop(0, turns, one, carry)

    out = jnp.full((batch, -(-room // turns) * turns), -1, jnp.int32)
    # All layers share the lengths: in each of them, each would be added to by a kernel.
    begin = jnp.int32(0), _with_lengths(state, None), state.caches[0].lengths, out
    _, state, lengths, out = lax.while_loop(go_on, several, begin)
    return _with_lengths(state, lengths), out[:, :room]


def _with_lengths(state: State, lengths: Any) -> State:
    return replace(state, caches=tuple(replace(c, lengths=lengths) for c in state.caches))


def _tokens_of_a_turn() -> int:
    """On a GPU a loop waits for the host, which reads its condition, unless its turns are known."""
    return 8 if jax.default_backend() == "gpu" else 1


def _keys(rows: jax.Array, num: jax.Array) -> jax.Array:
    return jax.vmap(jax.random.fold_in)(rows, num)


def _is_stop(tokens: jax.Array, stops: jax.Array) -> jax.Array:
    return jnp.any(tokens[:, None] == stops, axis=-1)


def row_keys(seed: int, batch: int) -> jax.Array:
    """A key for each row, which depends only on the seed and the row's number."""
    key: Any = jax.random.key(seed)
    return jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(batch))
