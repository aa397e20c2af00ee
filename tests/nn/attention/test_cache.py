from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.nn.attention.cache import Cache


def places(batch: int, length: int, seed: int) -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(seed)
    k, v = rng.standard_normal((2, batch, length, 2, 3)).astype(np.float32)
    return jnp.asarray(k), jnp.asarray(v)


@settings(max_examples=20)
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 99)), min_size=1, max_size=4),
)
def test_rows_grow_by_what_counts(batch: int, calls: list[tuple[int, int]]) -> None:
    """FLAX-7: rows of different lengths hold exactly what was appended to each."""
    cache = Cache.empty(batch, 16, 2, 3, jnp.dtype(jnp.float32))
    held: list[list[Any]] = [[] for _ in range(batch)]
    for length, seed in calls:
        k, v = places(batch, length, seed)
        num = np.random.default_rng(seed).integers(0, length + 1, batch)
        cache = cache.append(k, v, jnp.asarray(num, jnp.int32))
        for row in range(batch):
            held[row] += [(k[row, i], v[row, i]) for i in range(num[row])]
    keys, values = cache.view()
    assert keys.shape == (batch, 16, 2, 3)
    for row, entries in enumerate(held):
        assert int(cache.lengths[row]) == len(entries)
        for i, (k_one, v_one) in enumerate(entries):
            assert np.array_equal(keys[row, i], k_one)
            assert np.array_equal(values[row, i], v_one)


def test_growing_keeps_what_is_there() -> None:
    k, v = places(2, 4, 0)
    cache = Cache.empty(2, 4, 2, 3, jnp.dtype(jnp.bfloat16)).append(k, v, jnp.asarray([4, 2]))
    grown = cache.grown(7)
    assert (cache.capacity, grown.capacity) == (4, 7)
    assert np.array_equal(grown.view()[0][:, :4], cache.view()[0])
    assert grown.keys.dtype == jnp.bfloat16
    with pytest.raises(ValueError, match="a cache of 4 positions cannot shrink to 3"):
        cache.grown(3)


def test_more_than_fits_is_refused() -> None:
    k, v = places(1, 5, 0)
    with pytest.raises(ValueError, match="5 positions for a cache of 4"):
        Cache.empty(1, 4, 2, 3, jnp.dtype(jnp.float32)).append(k, v, jnp.asarray([5]))


def test_a_loop_writes_in_place() -> None:
    """A donated cache is the memory of the next one; nothing of its size is made beside it."""
    cache = Cache.empty(2, 256, 2, 64, jnp.dtype(jnp.float32))

    def run(cache: Cache) -> Cache:
        one = jnp.ones((2, 1, 2, 64))
        return jax.lax.fori_loop(0, 9, lambda _, c: c.append(one, one, jnp.asarray([1, 1])), cache)

    compiled = jax.jit(run, donate_argnums=0).lower(cache).compile()
    memory = compiled.memory_analysis()
    assert memory.alias_size_in_bytes >= cache.keys.nbytes * 2
    assert memory.temp_size_in_bytes < cache.keys.nbytes
