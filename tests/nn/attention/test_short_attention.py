"""Attention of short rows beside plain products: its kernels here without their hardware."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as gpu
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from barrow import nn
from barrow.nn import hopper
from barrow.nn.attention import attention as choice
from barrow.nn.attention import multi_head, short_kernel
from barrow.nn.attention import short_attention as module
from barrow.nn.attention.attention import _best, attention
from barrow.nn.attention.short_attention import has_kernel, ids_of, short_attention
from barrow.nn.attention.short_kernel import Kind
from barrow.nn.attention.visible import ALL, CAUSAL, Visible

SEGMENTS = jnp.asarray([[0] * 20 + [1] * 30 + [2] * 14, [3] * 60 + [-1] * 4], jnp.int32)
RESTRICTIONS = {
    "all": ALL,
    "causal": CAUSAL,
    "lengths": Visible(lengths=jnp.asarray([2, 0])),
    "causal, lengths": Visible(causal=True, lengths=jnp.asarray([20, 0])),
    "segments": Visible(segments=(SEGMENTS, SEGMENTS[::-1])),
}


def arrays(num: int, *, batch: int = 2, heads: int = 2, dtype: Any = jnp.float32) -> list[Any]:
    rng = np.random.default_rng(num)
    return [jnp.asarray(rng.standard_normal((batch, num, heads, 64)), dtype) for _ in range(4)]


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As on Hopper GPUs, but for the kernels: their twins take their place. Which of them ran."""
    used: list[str] = []

    def noting(name: str, twin: Any) -> Any:
        return lambda *given: (used.append(name), twin(*given))[1]

    monkeypatch.setattr(short_kernel, "forward", noting("forward", module._plain))
    monkeypatch.setattr(short_kernel, "gradient", noting("gradient", module._plain_gradient))
    monkeypatch.setattr(module, "is_hopper", lambda **_: True)
    monkeypatch.setattr(multi_head, "is_hopper", lambda **_: True)
    # What was traced with other kernels; all caches would be every program of all tests.
    short_attention.clear_cache()
    hopper.with_twin.cache_clear()
    return used


@pytest.fixture
def without_hardware(monkeypatch: pytest.MonkeyPatch, interpreter: Any) -> None:
    """The interpreter, with plain products in place of the tensor cores; layouts mean nothing."""

    @dataclass(frozen=True)
    class Turned:
        ref: Any

        def __getitem__(self, at: Any) -> Any:
            return self.ref[at].T

    def mine() -> Any:
        return pl.ds(jax.lax.axis_index("group") * 64, 64)

    held, kernel, iota = gpu.SMEM, gpu.kernel, jax.lax.broadcasted_iota
    monkeypatch.setattr(
        gpu, "SMEM", lambda shape, dtype, **_: held((shape[0] * 8, shape[1] * 64), dtype)
    )
    for name, function in {
        "_mine": mine,
        "_my_column": lambda ref: ref.at[:, mine()],
        "_flat": lambda ref: ref,
        "_matrix": lambda ref: ref,
        "_turned": Turned,
        "_product": lambda a, b: jnp.dot(a[...], b[...], preferred_element_type=jnp.float32),
    }.items():
        monkeypatch.setattr(short_kernel, name, function)
    monkeypatch.setattr(gpu, "broadcasted_iota", lambda *given, layout: iota(*given))
    monkeypatch.setattr(gpu, "load", lambda ref, at, **_: ref[at])
    monkeypatch.setattr(gpu, "kernel", partial(kernel, interpret=interpreter))


# The interpreter refuses copies past the end: here rows fill their tiles.
@pytest.mark.parametrize(
    ("num", "merged", "name"),
    [
        (128, True, "causal, segments"),
        pytest.param(64, True, "causal", marks=pytest.mark.soak),
        pytest.param(128, False, "all", marks=pytest.mark.soak),
        pytest.param(128, True, "lengths", marks=pytest.mark.soak),
    ],
)
def test_kernels_as_plain_products(
    num: int, merged: bool, name: str, without_hardware: None
) -> None:
    """FLAX-7; a query may see no key."""
    q, k, v, above = arrays(num, batch=1, heads=1, dtype=jnp.bfloat16)
    rng = np.random.default_rng(0)
    ids = {
        "causal, segments": jnp.asarray(rng.integers(0, 4, (1, 2, num)), jnp.int32),
        "lengths": ids_of(q.shape, Visible(lengths=jnp.asarray([100]))),
    }.get(name)
    kind = Kind("causal" in name, 0.125)
    given = (jnp.stack([q, k, v], axis=2),) if merged else (q, k, v)
    bias = jnp.asarray(rng.standard_normal((3, 1, 64)), jnp.bfloat16) if merged else None
    given = (given, bias, ids)

    @partial(jax.jit, static_argnums=(0, 1))
    def both(forward: Any, gradient: Any) -> Any:
        return forward(kind, *given), *gradient(kind, *given, above)

    found = both(short_kernel.forward, short_kernel.gradient)
    wanted = both(module._plain, module._plain_gradient)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == jnp.bfloat16
        ours, theirs = (np.asarray(x, np.float32) for x in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, atol=0.02 * float(np.abs(theirs).max()))


@pytest.mark.parametrize("num", [50, 77, 128])
@pytest.mark.parametrize("merged", [True, False])
def test_kernels_are_lowered_for_a_gpu(num: int, merged: bool) -> None:
    one = jax.ShapeDtypeStruct((2, num, 2, 64), jnp.bfloat16)
    all_of = jax.ShapeDtypeStruct((2, num, 3, 2, 64), jnp.bfloat16)
    given = (all_of,) if merged else (one,) * 3
    ids = jax.ShapeDtypeStruct((2, 2, num), jnp.int32) if num == 77 else None
    kind = Kind(num == 77, 0.125)
    for function, more in ((short_kernel.forward, ()), (short_kernel.gradient, (one,))):
        bias = jax.ShapeDtypeStruct((3, 2, 64), jnp.bfloat16) if merged else None
        traced = jax.jit(partial(function, kind)).trace(given, bias, ids, *more)
        assert "mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize("name", RESTRICTIONS)
@pytest.mark.parametrize("merged", [True, False])
def test_as_plain_products(name: str, merged: bool, twins: list[str]) -> None:
    """What is seen, as the kernels are told; outputs and gradients; no key, no NaN."""
    q, k, v, weight = arrays(64)
    visible = RESTRICTIONS[name]

    def both(function: Any) -> tuple[jax.Array, Any]:
        def total(*given: jax.Array) -> tuple[jax.Array, jax.Array]:
            out = function(*given)
            return jnp.sum(out * weight), out

        (_, out), back = jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True)(q, k, v)
        return out, back

    def ours(*given: jax.Array) -> jax.Array:
        parts = (jnp.stack(given, axis=2),) if merged else given
        ids = ids_of(q.shape, visible)
        return short_attention(parts, ids, causal=visible.causal, scale=0.3)  # type: ignore[no-any-return]

    plain = partial(attention, visible=visible, scale=0.3, backend="xla")
    (out, back), (expected, gradients) = jax.jit(lambda: (both(ours), both(plain)))()
    assert set(twins) == {"forward", "gradient"}
    np.testing.assert_allclose(out, expected, atol=2e-6)
    for mine, theirs in zip(back, gradients, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["causal", "lengths", "segments"])
@pytest.mark.parametrize("bias", [True, False])
def test_one_product_for_queries_keys_and_values(
    name: str, bias: bool, twins: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    visible = RESTRICTIONS[name]
    heads = nn.MultiHead(2, causal=visible.causal, bias=bias)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 64, 128)), jnp.bfloat16)

    @jax.jit
    def drawn(key: jax.Array) -> Any:
        params = heads.init(key, x)
        return jax.tree.map(lambda p: p + 0.1 * jax.random.normal(key, p.shape), params)

    params = drawn(jax.random.key(0))
    segments = None if visible.segments is None else SEGMENTS

    def total(params: Any, x: jax.Array) -> jax.Array:
        y, _ = heads.apply(params, x, lengths=visible.lengths, segments=segments)
        return jnp.sum(y.astype(jnp.float32) ** 2)

    wanted = jax.jit(jax.grad(total))(params, x.astype(jnp.float32))
    assert not twins
    hopper.log_choice.cache_clear()
    with caplog.at_level(logging.INFO):
        found = jax.jit(jax.grad(total))(params, x)
    assert set(twins) == {"forward", "gradient"}
    assert "attention of short rows of 64×2×64: a kernel for Hopper GPUs" in caplog.text
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=0.05 * float(np.abs(b).max() + 0.1)),
        found,
        wanted,
    )


def test_a_weight_that_is_no_array_has_a_product_of_its_own(twins: list[str]) -> None:
    class Twice:
        shape, dtype = (128, 2, 64), jnp.float32

        def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
            assert (num, transposed) == (1, False)
            return 2 * jnp.dot(x, kernel.astype(x.dtype).reshape(128, 128)).reshape(-1, 2, 64)

    heads = nn.MultiHead(2)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 40, 128)), jnp.bfloat16)
    params = heads.init(jax.random.key(0), x)
    kernel = params["k"]["kernel"]
    found, _ = heads.apply({**params, "k": {**params["k"], "kernel": Twice()}}, x)
    wanted, _ = heads.apply({**params, "k": {**params["k"], "kernel": 2 * kernel}}, x)
    assert set(twins) == {"forward"}
    np.testing.assert_allclose(
        found.astype(jnp.float32), wanted.astype(jnp.float32), atol=0.02, rtol=0.02
    )


def test_under_vmap(twins: list[str]) -> None:
    q, k, v, _ = (x[:, None] for x in arrays(7))

    def one(q: jax.Array, k: jax.Array, v: jax.Array, *, merged: bool = False) -> jax.Array:
        parts = (jnp.stack([q, k, v], axis=2),) if merged else (q, k, v)
        ids = ids_of(q.shape, Visible(lengths=jnp.asarray([5])))
        return jnp.sum(short_attention(parts, ids, causal=False, scale=0.3) ** 2)

    take = jax.jit(jax.value_and_grad(one))
    alone = [take(*row) for row in zip(q, k, v, strict=True)]
    for merged in (False, True):
        both = jax.value_and_grad(partial(one, merged=merged))
        mapped = jax.jit(jax.vmap(both))(q, k, v)
        for i, (total, gradient) in enumerate(alone):
            np.testing.assert_allclose(mapped[0][i], total, rtol=1e-6)
            np.testing.assert_allclose(mapped[1][i], gradient, atol=1e-6)
    shared = jax.jit(jax.vmap(one, in_axes=(0, None, None)))(q, k[0], v[0])
    np.testing.assert_allclose(shared[1], take(q[1], k[0], v[0])[0], rtol=1e-6)


def test_all_layers_and_calls_share_a_kernel(twins: list[str]) -> None:
    def layers(x: jax.Array, num: int) -> jax.Array:
        for _ in range(num):
            x = attention(x, x, x, scale=0.125, backend="short")
        return jnp.sum(x.astype(jnp.float32))

    x = arrays(40, batch=1, dtype=jnp.bfloat16)[0]
    jax.make_jaxpr(jax.grad(layers), static_argnums=1)(x, 1)
    before = len(twins)
    jax.make_jaxpr(jax.grad(layers), static_argnums=1)(x, 3)
    layers(x, 1)
    assert len(twins) == before > 0


def test_rows_and_heads_stay_where_they_are(twins: list[str]) -> None:
    """Split over devices by batch and heads, nothing is gathered; split places are put together."""
    mesh = Mesh(np.asarray(jax.devices()[:8]).reshape(4, 2), ("data", "heads"))
    given = arrays(6, batch=4)[:3]

    def gradients(q: jax.Array, k: jax.Array, v: jax.Array) -> Any:
        ids = ids_of(q.shape, Visible(lengths=jnp.asarray([6, 2, 5, 0])))

        def total(*given: jax.Array) -> jax.Array:
            return jnp.sum(short_attention(given, ids, causal=True, scale=0.3) ** 2)

        return jax.grad(total, (0, 1, 2))(q, k, v)

    expected = jax.jit(gradients)(*given)
    for spec, gathers in ((("data", None, "heads"), False), (("data", "heads"), True)):
        split = [jax.device_put(x, NamedSharding(mesh, PartitionSpec(*spec))) for x in given]
        program = jax.jit(gradients).lower(*split).compile()
        assert ("all-gather" in program.as_text()) == gathers
        for ours, wanted in zip(program(*split), expected, strict=True):
            np.testing.assert_allclose(ours, wanted, atol=1e-5)


STARTS = Visible(causal=True, starts=jnp.zeros(2, jnp.int32))


@pytest.mark.parametrize(
    ("shape", "num_keys", "kv_heads", "dtype", "visible", "has"),
    [
        ((2, 128, 2, 64), 128, 2, jnp.bfloat16, ALL, True),
        ((2, 50, 2, 64), 50, 2, jnp.float16, RESTRICTIONS["segments"], True),
        ((2, 129, 2, 64), 129, 2, jnp.bfloat16, ALL, False),
        ((2, 50, 2, 64), 40, 2, jnp.bfloat16, ALL, False),
        ((2, 50, 2, 32), 50, 2, jnp.bfloat16, ALL, False),
        ((2, 50, 2, 64), 50, 1, jnp.bfloat16, ALL, False),
        ((2, 50, 2, 64), 50, 2, jnp.float32, ALL, False),
        ((2, 50, 2, 64), 50, 2, jnp.bfloat16, STARTS, False),
        ((2, 50, 2, 64), 50, 2, jnp.bfloat16, Visible(causal=True, window=8), False),
        ((0, 50, 2, 64), 50, 2, jnp.bfloat16, ALL, False),
    ],
    ids=[
        "fits",
        "half",
        "long",
        "cross",
        "odd_heads",
        "grouped",
        "float32",
        "starts",
        "window",
        "empty",
    ],
)
def test_other_sizes_types_and_masks_fall_back(
    shape: Any,
    num_keys: int,
    kv_heads: int,
    dtype: Any,
    visible: Visible,
    has: bool,
    twins: list[str],
) -> None:
    assert has_kernel(shape, num_keys, kv_heads, dtype, visible) == has
    q, k = jnp.zeros(shape, dtype), jnp.zeros((shape[0], num_keys, kv_heads, shape[3]), dtype)
    if not has:
        assert attention(q, k, k, visible).shape == shape
        assert not twins
    if not has and not visible.is_local:
        with pytest.raises(ValueError, match="short attention needs a Hopper GPU, as many queries"):
            attention(q, k, k, visible, backend="short")


def test_it_needs_automatic_sharding(twins: list[str]) -> None:
    q = jnp.zeros((8, 40, 1, 64), jnp.bfloat16)
    explicit = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Explicit,))
    rows = PartitionSpec("data")

    def call(q: jax.Array) -> jax.Array:
        return attention(q, q, q, backend="short")

    with pytest.raises(ValueError, match='"short" needs automatic sharding, got an explicit mesh'):
        jax.jit(call)(jax.device_put(q, NamedSharding(explicit, rows)))
    mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
    with pytest.raises(ValueError, match='pass backend="auto"'):
        jax.eval_shape(jax.shard_map(call, mesh=mesh, in_specs=rows, out_specs=rows), q)


def on_a_gpu(monkeypatch: pytest.MonkeyPatch, capability: str) -> None:
    device = SimpleNamespace(compute_capability=capability)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "local_devices", lambda: [device])


@pytest.mark.parametrize(
    ("capability", "chosen"),
    [("9.0", "short"), ("10.0", "cudnn"), ("8.0", "cudnn"), ("7.5", "xla"), ("gfx942", "xla")],
)
def test_it_is_chosen_on_hopper_gpus(
    capability: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other NVIDIA GPUs have cuDNN's from Ampere on; AMD's are a "gpu" to JAX as well."""
    q = jnp.zeros((1, 50, 2, 64), jnp.bfloat16)
    assert _best(q, q, ALL) == "xla"
    on_a_gpu(monkeypatch, capability)
    assert _best(q, q, ALL) == chosen
    long = jnp.zeros((1, 200, 2, 64), jnp.bfloat16)
    assert _best(long, long, ALL) == ("cudnn" if chosen == "short" else chosen)
    for few in (q[:, :1], q[:0], q.astype(jnp.float32)):
        assert _best(few, few, ALL) == "xla"


def test_where_pallas_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_gpu(monkeypatch, "9.0")
    q = jnp.zeros((8, 50, 2, 64), jnp.bfloat16)
    chosen = []

    def note(q: jax.Array) -> jax.Array:
        chosen.append(_best(q, q, ALL))
        assert choice.is_automatic(q) == (chosen[-1] == "short")
        return q

    mesh, rows = Mesh(np.asarray(jax.devices()[:8]), ("data",)), PartitionSpec("data")
    jax.eval_shape(jax.shard_map(note, mesh=mesh, in_specs=rows, out_specs=rows), q)
    explicit = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Explicit,))
    jax.jit(note)(jax.device_put(q, NamedSharding(explicit, rows)))
    assert chosen == ["cudnn", "cudnn"]
    jax.jit(note)(jax.device_put(q, NamedSharding(mesh, rows)))
    assert chosen[-1] == "short"
