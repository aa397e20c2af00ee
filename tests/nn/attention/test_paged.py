from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.nn.attention.paged import Paged, Pages, Rows

PAGE, KV, HEADS, DIM = 64, 2, 4, 8


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def filled(rows: Rows, k: np.ndarray, v: np.ndarray, *, dtype: str = "float32") -> Paged:
    """A pool with the keys of whole rows [rows, places, …] in the pages of the tables.

    Everything else is large: whoever reads it shows.
    """
    pools = []
    for x in (k, v):
        data = np.full((40, KV, PAGE, DIM), 99 if dtype == "int8" else 1e30, np.float32)
        for row, table in enumerate(np.asarray(rows.tables)):
            for place in range(int(rows.starts[row])):
                data[table[place // PAGE], :, place % PAGE] = x[row, place]
        empty = Pages.empty(40, PAGE, KV, DIM, dtype)
        if dtype == "int8":
            pools.append(empty.put(slice(None), jnp.asarray(data)))
        else:
            pools.append(replace(empty, data=jnp.asarray(data)))
    return Paged(*pools, rows)


def tables(num: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(1).permutation(40)[: num * 6].reshape(num, 6))


def by_hand(q: np.ndarray, k: np.ndarray, v: np.ndarray, *, window: int | None) -> np.ndarray:
    """In float64; the last query is at the last key."""
    k, v = (np.repeat(x.astype(np.float64), HEADS // KV, axis=1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q.astype(np.float64), k) / np.sqrt(DIM)
    places = np.arange(len(k) - len(q), len(k))[:, None]
    others = np.arange(len(k))
    seen = (others <= places) & (others > places - (window or len(k)))
    weights = np.where(seen, np.exp(scores), 0)
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


@pytest.mark.parametrize(("window", "dtype"), [(None, "float32"), (40, "float32"), (None, "int8")])
def test_as_plain_attention_of_each_row(window: int | None, dtype: str) -> None:
    """Two single tokens, one row without tokens, a whole part and one of 10 tokens."""
    starts, nums = [70, 0, 300, 128, 64], [1, 0, 1, 64, 10]
    rows = Rows(tables(5), jnp.asarray(starts), jnp.asarray(nums), 3)
    q, k, v = (drawn(5, 320, heads, DIM, seed=i) for i, heads in enumerate((HEADS, KV, KV)))
    sizes = [1, 1, 1, PAGE, PAGE]
    flat = [
        np.concatenate(
            [x[i, s : s + n] for i, (s, n) in enumerate(zip(starts, sizes, strict=True))]
        )
        for x in (q, k, v)
    ]
    cache = filled(rows, k, v, dtype=dtype).append(flat[1][None], flat[2][None])
    found = jax.jit(lambda cache, q: cache.attend(q, window=window))(cache, flat[0][None])[0]
    at = 0
    for row, (start, num) in enumerate(zip(starts, nums, strict=True)):
        if num:
            end = start + num
            expected = by_hand(q[row, start:end], k[row, :end], v[row, :end], window=window)
            tolerance = 2e-6 if dtype == "float32" else 0.03
            np.testing.assert_allclose(found[at : at + num], expected, atol=tolerance)
        at += sizes[row]
    assert np.isfinite(np.asarray(found)).all()


def test_a_row_does_not_notice_a_longer_neighbour() -> None:
    """More turns of the loop change no bit."""
    k, v = drawn(2, 384, KV, DIM, seed=1), drawn(2, 384, KV, DIM, seed=2)
    q = drawn(1, 2, HEADS, DIM)
    found = []
    for length in (10, 350):
        rows = Rows(tables(2), jnp.asarray([30, length]), jnp.asarray([1, 1]), 2)
        cache = filled(rows, k, v).append(k[None, :, 40], v[None, :, 40])
        found.append(np.asarray(jax.jit(Paged.attend)(cache, q)[0]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert (found[0][1] != found[1][1]).any()


def test_a_row_without_tokens_writes_nothing() -> None:
    rows = Rows(tables(3), jnp.asarray([0, 5, 64]), jnp.asarray([0, 1, 0]), 2)
    cache = Paged(*(Pages.empty(40, PAGE, KV, DIM, "float32") for _ in range(2)), rows)
    after = cache.append(jnp.ones((1, 2 + PAGE, KV, DIM)), jnp.ones((1, 2 + PAGE, KV, DIM)))
    written = np.argwhere(np.asarray(after.keys.data).any(axis=(1, 3)))
    assert written.tolist() == [[int(rows.tables[1, 0]), 5]]


def test_pages_stay_finite() -> None:
    """A row that overflowed leaves nothing behind that would count in the next row of its page."""
    for dtype in ("float32", "int8"):
        pages = Pages.empty(2, PAGE, KV, DIM, dtype)
        x = jnp.asarray([np.nan, np.inf, -np.inf, 3.0] * 2, jnp.float32)
        after = pages.put((1, slice(None), 5), jnp.broadcast_to(x, (KV, DIM)))
        found = after.gather(jnp.asarray([[1]]), jnp.float32)[0, :, 5]
        np.testing.assert_allclose(found, [[0, 0, 0, 3] * 2] * KV, rtol=1e-6)
