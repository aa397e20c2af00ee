from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.goldens import golden

from barrow.nn.attention.attention import attention, attention_weights
from barrow.nn.attention.fused_attention import evened
from barrow.nn.attention.visible import ALL, CAUSAL, Sparse, Visible

Array = np.ndarray[Any, Any]


def seen(visible: Visible, batch: int, queries: int, keys: int) -> Array:
    """Which keys each query sees, one by one, in plain Python."""
    mask = np.zeros((batch, queries, keys), bool)
    for b in range(batch):
        start = 0 if visible.starts is None else int(visible.starts[b])
        length = keys if visible.lengths is None else int(visible.lengths[b])
        for q in range(queries):
            for k in range(keys):
                ok = k < length and (not visible.causal or k <= start + q)
                if visible.segments is not None:
                    ok = ok and visible.segments[0][b, q] == visible.segments[1][b, k]
                if visible.window is not None:
                    ok = ok and k > start + q - visible.window
                if visible.sparse is not None:
                    ours, theirs = (start + q) // visible.sparse.size, k // visible.sparse.size
                    near = abs(ours - theirs) <= visible.sparse.before
                    ok = ok and (near or theirs < visible.sparse.first)
                mask[b, q, k] = ok
    return mask


def reference(q: Array, k: Array, v: Array, mask: Array, scale: float) -> Array:
    """Attention in float64, a head at a time; zeros for a query that sees nothing."""
    group = q.shape[2] // k.shape[2]
    out = np.zeros(q.shape)
    for b, i, h in np.ndindex(q.shape[0], q.shape[1], q.shape[2]):
        places = np.flatnonzero(mask[b, i])
        if not len(places):
            continue
        scores = scale * k[b, places, h // group].astype(np.float64) @ q[b, i, h]
        shares = np.exp(scores - scores.max())
        out[b, i, h] = shares / shares.sum() @ v[b, places, h // group]
    return out


def arrays(
    queries: int = 6, keys: int = 6, heads: int = 4, kv_heads: int = 4, batch: int = 3, dim: int = 8
) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(queries + 10 * keys + 100 * kv_heads)
    shapes = ((queries, heads), (keys, kv_heads), (keys, kv_heads))
    made = [rng.standard_normal((batch, n, h, dim)).astype(np.float32) for n, h in shapes]
    return made[0], made[1], made[2]


SEGMENTS = jnp.asarray([[0, 0, 1, 1, 1, 2], [0] * 6, [3, 3, 3, 3, 4, 4]])
RESTRICTIONS = {
    "all": ALL,
    "causal": CAUSAL,
    "lengths": Visible(lengths=jnp.asarray([2, 6, 1])),
    "causal, lengths": Visible(causal=True, lengths=jnp.asarray([2, 6, 1])),
    "starts": Visible(causal=True, starts=jnp.asarray([0, 2, 4]), lengths=jnp.asarray([6, 6, 5])),
    "segments": Visible(segments=(SEGMENTS, SEGMENTS)),
    "causal segments": Visible(causal=True, segments=(SEGMENTS, SEGMENTS)),
    "some see nothing": Visible(causal=True, lengths=jnp.asarray([0, 6, 3])),
}


@pytest.mark.parametrize(
    ("name", "kv_heads"),
    [
        pytest.param(
            name,
            kv_heads,
            id=f"{name}-{kind}",
            # Masks know nothing of heads: each with one kind of them, and three with every kind.
            marks=[]
            if kv_heads == 2 or name in ("all", "starts", "some see nothing")
            else [pytest.mark.soak],
        )
        for name in RESTRICTIONS
        for kind, kv_heads in (("multi-head", 4), ("grouped", 2), ("multi-query", 1))
    ],
)
def test_against_float64(name: str, kv_heads: int) -> None:
    """FLAX-7: ≤ 1e-5 against float64; multi-head, grouped-query, multi-query; every mask.

    At once and row by row, whose gradients agree too, also of a query that sees nothing.
    """
    q, k, v = arrays(kv_heads=kv_heads)
    visible = RESTRICTIONS[name]

    def total(q: Any, k: Any, v: Any, backend: Any) -> Any:
        out = attention(q, k, v, visible, backend=backend)
        return jnp.sum(jnp.sin(out)), out

    take = jax.grad(total, argnums=(0, 1, 2), has_aux=True)
    (back, out), (rows_back, rows) = jax.jit(lambda *a: (take(*a, "xla"), take(*a, "rows")))(
        q, k, v
    )
    expected = reference(q, k, v, seen(visible, 3, 6, 6), 8**-0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    for ours, theirs in zip(rows_back, back, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["all", "causal segments", "some see nothing"])
def test_gradients_against_float64(name: str) -> None:
    """FLAX-7: the derivative along random directions is the difference quotient in float64."""
    q, k, v = arrays(kv_heads=2)
    visible = RESTRICTIONS[name]
    mask = seen(visible, 3, 6, 6)
    rng = np.random.default_rng(7)
    weight = rng.standard_normal(q.shape)

    def loss(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.sum(attention(q, k, v, visible) * weight)

    gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(q, k, v)
    for place, gradient in enumerate(gradients):
        assert np.all(np.isfinite(gradient))
        for _ in range(3):
            way = rng.standard_normal(gradient.shape)
            step = 1e-6

            def at(t: float, place: int = place, way: Array = way) -> float:
                moved = [x.astype(np.float64) for x in (q, k, v)]
                moved[place] = moved[place] + t * way
                return float(np.sum(reference(*moved, mask, 8**-0.5) * weight))

            slope = (at(step) - at(-step)) / (2 * step)
            assert np.sum(np.asarray(gradient, np.float64) * way) == pytest.approx(
                slope, rel=1e-4, abs=2e-5
            )


def test_large_logits_stay_finite() -> None:
    """FLAX-7: logits of ±1e4 are finite, forward and backward."""
    q, k, v = arrays()
    # An integer: sums of it are exact in any order, so that equal logits stay equal.
    q, k = 28_284 * np.sign(q), np.sign(k)
    for visible in (ALL, RESTRICTIONS["some see nothing"]):
        total = lambda *a, visible=visible: attention(*a, visible).sum()  # noqa: E731
        out, back = jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2)))(q, k, v)
        assert np.isfinite(out)
        assert all(np.all(np.isfinite(g)) for g in back)
    expected = reference(q, k, v, seen(CAUSAL, 3, 6, 6), 8**-0.5)
    np.testing.assert_allclose(attention(q, k, v, CAUSAL), expected, atol=1e-5)


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    q, k, v = arrays()
    visible = RESTRICTIONS["some see nothing"]
    assert np.all(np.asarray(attention(q, k, v, visible))[0] == 0)
    weights = attention_weights(q, k, visible)
    assert np.all(np.asarray(weights)[0] == 0)
    np.testing.assert_allclose(np.asarray(weights)[1].sum(-1), 1, rtol=1e-6)


@golden("torch")
def by_torch(q: Array, k: Array, v: Array, *, is_causal: bool) -> Any:
    import torch

    heads_first = (torch.tensor(x).transpose(1, 2) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(
        *heads_first, is_causal=is_causal, enable_gqa=True
    ).transpose(1, 2)


@pytest.mark.parametrize("is_causal", [False, True])
def test_as_pytorch_does(is_causal: bool) -> None:
    """FLAX-7: torch.nn.functional.scaled_dot_product_attention, grouped heads."""
    q, k, v = arrays(heads=6, kv_heads=2)
    ours = attention(q, k, v, CAUSAL if is_causal else ALL)
    np.testing.assert_allclose(ours, by_torch(q, k, v, is_causal=is_causal), atol=1e-5)


def test_bfloat16_has_a_float32_softmax() -> None:
    q, k, v = arrays(keys=64, queries=6)
    exact = attention(q, k, v)
    low = attention(*(jnp.asarray(x, jnp.bfloat16) for x in (q, k, v)))
    assert low.dtype == jnp.bfloat16
    assert attention_weights(jnp.asarray(q, jnp.bfloat16), jnp.asarray(k, jnp.bfloat16)).dtype == (
        jnp.float32
    )
    np.testing.assert_allclose(low.astype(jnp.float32), exact, atol=0.03)


def test_the_scale_is_one_over_the_root_unless_given() -> None:
    q, k, v = arrays()
    np.testing.assert_allclose(attention(q, k, v), attention(q, k, v, scale=8**-0.5), atol=1e-7)
    expected = reference(q, k, v, seen(ALL, 3, 6, 6), 0.5)
    np.testing.assert_allclose(attention(q, k, v, scale=0.5), expected, atol=1e-5)


@settings(max_examples=25)
@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)
def test_masks_as_in_plain_python(
    batch: int, queries: int, keys: int, causal: bool, starts: bool, lengths: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    visible = Visible(
        causal,
        jnp.asarray(rng.integers(0, keys, batch)) if starts else None,
        jnp.asarray(rng.integers(0, keys + 1, batch)) if lengths else None,
    )
    mask = visible.mask(queries, keys)
    expected = seen(visible, batch, queries, keys)
    if mask is None:
        assert expected.all()
    else:
        full = np.broadcast_to(np.asarray(mask), (batch, 1, queries, keys))[:, 0]
        assert np.array_equal(full, expected)


def test_other_shapes_are_refused() -> None:
    q, k, v = arrays()
    with pytest.raises(ValueError, match=r"attention needs q \[batch, queries, heads, head_dim\]"):
        attention(q[0], k, v)
    with pytest.raises(ValueError, match="got .*and .*8"):
        attention(q, k, v[:, :2])
    with pytest.raises(ValueError, match="must agree in batch and head_dim"):
        attention(q, k[:, :, :3], v[:, :, :3])
    with pytest.raises(ValueError, match="must agree in batch and head_dim"):
        attention(q[..., :4], k, v)


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the fused kernel is asked; JAX's own plain implementation stands in for it."""
    given: list[dict[str, Any]] = []
    plain = jax.nn.dot_product_attention

    def watched(*args: Any, **options: Any) -> Any:
        given.append(options)
        return plain(*args, **{**options, "implementation": "xla"})

    monkeypatch.setattr(jax.nn, "dot_product_attention", watched)
    return given


def test_the_fused_kernel_is_told_lengths_and_given_no_mask(fused: list[dict[str, Any]]) -> None:
    q, k, v = arrays()
    visible = Visible(lengths=jnp.asarray([2, 6, 0]))
    out = attention(q, k, v, visible, backend="cudnn")
    (given,) = fused
    assert given["implementation"] == "cudnn"
    assert "mask" not in given
    assert given["key_value_seq_lengths"].tolist() == [2, 6, 1]
    expected = reference(q, k, v, seen(visible, 3, 6, 6), 8**-0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert Visible(causal=True, lengths=jnp.asarray([1])).is_padding is False


def test_a_program_mapped_over_models_gives_the_fused_kernel_a_mask_of_all_heads(
    fused: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAX cannot map cuDNN's kernel over models with a mask of one head (BEYOND-6)."""
    q, k, v = (jnp.stack([x, 2 * x]) for x in arrays())
    segments = jnp.asarray([[1, 1, 1, 2, 2, 2]] * 3)
    visible = Visible(causal=True, segments=(segments, segments))

    def mapped(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, visible, backend="mapped")

    plain = jax.vmap(mapped)(q, k, v)
    assert not fused  # without a GPU
    module = sys.modules["barrow.nn.attention.attention"]
    monkeypatch.setattr(module, "_best", lambda *_: "short")
    out = jax.vmap(mapped)(q, k, v)
    (given,) = fused
    assert given["implementation"] == "cudnn"
    assert given["mask"].shape == (3, q.shape[3], 6, 6)
    np.testing.assert_allclose(out, plain, atol=1e-5)


def test_documents_in_the_fused_kernel(
    fused: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows that attention is causal beside the mask, and no result is set to 0 after it."""
    q, k, v = arrays()
    segments = jnp.asarray([[1, 1, 1, 2, 2, 2], [1, 2, 2, 2, 3, 0], [1, 1, 1, 1, 1, 1]])
    visible = Visible(causal=True, segments=(segments, segments))
    out = attention(q, k, v, visible, backend="cudnn")
    assert fused[0]["is_causal"]
    assert fused[0]["mask"].shape == (3, 1, 6, 6)
    expected = reference(q, k, v, seen(visible, 3, 6, 6), 8**-0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    monkeypatch.setattr(jax.nn, "dot_product_attention", lambda *_, **__: out)
    assert attention(q, k, v, visible, backend="cudnn") is out


def test_queries_after_a_cache_are_not_causal_to_the_fused_kernel(
    fused: list[dict[str, Any]],
) -> None:
    q, k, v = arrays(4, 8)
    visible = Visible(causal=True, starts=jnp.asarray([4, 2, 0]))
    out = attention(q, k, v, visible, backend="cudnn")
    assert not fused[0]["is_causal"]
    expected = reference(q, k, v, seen(visible, 3, 4, 8), 8**-0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize("case", ["all", "causal", "lengths", "segments", "cache"])
def test_even_lengths_are_the_same_question(case) -> None:
    """What the fused kernel is asked in place of an odd number of queries and keys."""
    rng = np.random.default_rng(4)
    num_keys = 9 if case == "cache" else 7
    q = jnp.asarray(rng.normal(size=(2, 7, 4, 8)), jnp.float32)
    k, v = (jnp.asarray(rng.normal(size=(2, num_keys, 2, 8)), jnp.float32) for _ in range(2))
    ids = jnp.asarray([[0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 1, 1, 1, 1]])
    visible = {
        "all": Visible(),
        "causal": Visible(causal=True),
        "lengths": Visible(lengths=jnp.asarray([7, 3])),
        "segments": Visible(causal=True, segments=(ids, ids)),
        "cache": Visible(causal=True, starts=jnp.asarray([2, 0])),
    }[case]
    even = evened(q, k, v, visible)
    assert [x.shape[1] % 2 for x in even[:3]] == [0, 0, 0]
    assert even[3].is_plain == (case == "causal")
    wanted = jax.jit(lambda *a: attention(*a, visible, backend="xla"))(q, k, v)
    found = jax.jit(lambda *a: attention(*a, even[3], backend="xla"))(*even[:3])[:, :7]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


LONG_SEGMENTS = jnp.asarray(np.repeat([[0, 1, 1, 2, 5]], 5, axis=1).repeat(3, axis=0)[:, :23])
LOCAL = {
    "window": Visible(causal=True, window=4),
    "window of one": Visible(causal=True, window=1),
    "window and documents": Visible(causal=True, window=7, segments=(LONG_SEGMENTS, LONG_SEGMENTS)),
    "window and lengths": Visible(causal=True, window=4, lengths=jnp.asarray([2, 23, 9])),
    "blocks": Visible(causal=True, sparse=Sparse(size=3, before=1, first=1)),
    "blocks both ways": Visible(sparse=Sparse(size=4, before=1, first=0)),
    "blocks, first ones, both ways": Visible(sparse=Sparse(size=2, before=0, first=2)),
    "blocks, lengths": Visible(
        lengths=jnp.asarray([5, 23, 1]), sparse=Sparse(size=4, before=1, first=1)
    ),
    "blocks and a window": Visible(causal=True, window=5, sparse=Sparse(size=4, before=2, first=0)),
}


@pytest.mark.parametrize(
    ("name", "kv_heads"),
    [
        pytest.param(
            name,
            kv_heads,
            marks=[] if kv_heads == 2 or name in ("window", "blocks") else [pytest.mark.soak],
        )
        for name in LOCAL
        for kv_heads in (4, 2)
    ],
)
def test_windows_and_blocks(name: str, kv_heads: int) -> None:
    """DEEPSPEED-13: as dense attention with the mask, in float64, and its gradient."""
    visible = LOCAL[name]
    q, k, v = arrays(23, 23, kv_heads=kv_heads)
    mask = seen(visible, 3, 23, 23)
    expected = reference(q, k, v, mask, 8**-0.5)

    def by_hand(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        many = [jnp.repeat(x, 4 // kv_heads, axis=2) for x in (k, v)]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, many[0]) * 8**-0.5
        shares = jax.nn.softmax(jnp.where(mask[:, None], scores, -1e30), axis=-1)
        shares = jnp.where(mask[:, None], shares, 0)
        return jnp.sin(jnp.einsum("bhqk,bkhd->bqhd", shares, many[1])).sum()

    def total(*qkv: jax.Array) -> tuple[jax.Array, jax.Array]:
        out = attention(*qkv, visible)
        return jnp.sin(out).sum(), out

    @jax.jit
    def all_of_them(*qkv: jax.Array) -> Any:
        ours, found = jax.grad(total, (0, 1, 2), has_aux=True)(*qkv)
        dense = attention_weights(qkv[0], qkv[1], visible)
        return found, dense, ours, jax.grad(by_hand, (0, 1, 2))(*qkv)

    found, dense, ours, theirs = all_of_them(q, k, v)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(np.asarray(dense)[:, 0] > 0, mask)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_window_after_a_cache() -> None:
    """One query after nine keys sees the last four."""
    q, k, v = arrays(1, 12)
    visible = Visible(causal=True, starts=jnp.asarray([9, 3, 0]), window=4)
    expected = reference(q, k, v, seen(visible, 3, 1, 12), 8**-0.5)
    np.testing.assert_allclose(attention(q, k, v, visible), expected, atol=1e-5)
    blocks = Visible(causal=True, starts=jnp.asarray([9, 3, 0]), sparse=Sparse(3, 1, 1))
    expected = reference(q, k, v, seen(blocks, 3, 1, 12), 8**-0.5)
    np.testing.assert_allclose(attention(q, k, v, blocks), expected, atol=1e-5)


def test_the_fused_kernel_has_windows_of_its_own(fused: list[dict[str, Any]]) -> None:
    q, k, v = arrays(24, 24)
    window = Visible(causal=True, window=4)
    out = attention(q, k, v, window, backend="cudnn")
    (given,) = fused
    assert given["local_window_size"] == (3, 0)
    assert given["mask"] is None
    np.testing.assert_allclose(out, attention(q, k, v, window), atol=1e-5)


@pytest.mark.parametrize("name", ["window", "blocks"])
def test_local_attention_costs_in_proportion_to_the_length(name: str) -> None:
    """DEEPSPEED-13: operations and memory of the compiled program, at n and at 2n places."""

    def cost(length: int) -> tuple[float, float]:
        shape = jax.ShapeDtypeStruct((1, length, 2, 8), jnp.float32)
        grad = jax.grad(lambda *qkv: attention(*qkv, LOCAL[name]).sum(), (0, 1, 2))
        compiled = jax.jit(grad).lower(shape, shape, shape).compile()
        return compiled.cost_analysis()["flops"], compiled.memory_analysis().temp_size_in_bytes

    for once, twice in zip(cost(512), cost(1024), strict=True):
        assert twice < 2.2 * once


def test_windows_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="window must be ≥ 1, and causal, got 0"):
        Visible(causal=True, window=0)
    with pytest.raises(ValueError, match="window must be ≥ 1, and causal, got 5"):
        Visible(window=5)
    with pytest.raises(ValueError, match="size must be ≥ 1, before and first ≥ 0"):
        Sparse(size=0)
