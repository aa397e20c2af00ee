from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow import nn
from barrow.models import GREEDY, Decoder, DecoderConfig
from barrow.models.decoder.decoding import decode, prefill, row_keys
from barrow.models.decoder.generate import for_decoding
from barrow.models.decoder.sampling import chooser

CONFIG = DecoderConfig(
    vocab_size=30, width=16, layers=3, heads=2, hidden=16, context=256, init_std=0.3
)
MODEL = Decoder(CONFIG, unroll=True)
NO_STOPS = jnp.asarray([-2])


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


def test_the_loop_reads_weights_and_caches_in_place() -> None:
    """No temporary of the size of a cache, nor of all the weights: nothing is copied per token."""
    params = for_decoding(drawn(MODEL, jnp.zeros((1, 1), jnp.int32)))
    tokens = jnp.ones((1, 16), jnp.int32)
    how = chooser(GREEDY)
    state = prefill(
        MODEL, params, tokens, jnp.asarray([9]), row_keys(0, 1), how, NO_STOPS, capacity=256
    )
    compiled = decode.lower(MODEL, params, state, how, NO_STOPS, jnp.int32(4), room=8).compile()
    caches = sum(leaf.nbytes for leaf in jax.tree.leaves(state.caches))
    memory = compiled.memory_analysis()
    assert memory.alias_size_in_bytes >= caches
    assert memory.temp_size_in_bytes < caches


def test_a_row_that_is_done_stays_as_it_is() -> None:
    params = for_decoding(drawn(MODEL, jnp.zeros((1, 1), jnp.int32)))
    tokens = jnp.asarray([[1, 2, 3, 0], [4, 5, 0, 0]])
    how = chooser(GREEDY)
    first = prefill(
        MODEL, params, tokens, jnp.asarray([3, 2]), row_keys(0, 2), how, NO_STOPS, capacity=32
    )
    stop = first.last[:1]
    begun = prefill(
        MODEL, params, tokens, jnp.asarray([3, 2]), row_keys(0, 2), how, stop, capacity=32
    )
    assert bool(begun.done[0])
    if int(first.last[1]) != int(stop[0]):
        state, out = decode(MODEL, params, begun, how, stop, jnp.int32(3), room=4)
        assert np.all(np.asarray(out)[0] == -1)
        assert np.asarray(out)[1, 3] == -1
        assert int(state.caches[0].lengths[0]) == 3
        assert int(state.num[0]) == 1


def test_keys_of_rows_differ_and_are_the_same_again() -> None:
    keys = jax.random.key_data(row_keys(3, 4))
    assert len({tuple(key) for key in keys.tolist()}) == 4
    assert np.array_equal(keys, jax.random.key_data(row_keys(3, 4)))
    assert np.array_equal(keys[:2], jax.random.key_data(row_keys(3, 2)))
