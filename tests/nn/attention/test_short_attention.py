"""The kernel for short rows, interpreted where there is no GPU, beside plain products."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from barrow.nn.attention import short_attention as kernels
from barrow.nn.attention.attention import _best, attention
from barrow.nn.attention.short_attention import short_attention
from barrow.nn.attention.visible import ALL, CAUSAL, Visible

RESTRICTIONS = {
    "all": ALL,
    "causal": CAUSAL,
    "lengths": Visible(lengths=jnp.asarray([2, 0, 9])),
    "causal, lengths": Visible(causal=True, lengths=jnp.asarray([20, 0, 9])),
}


def arrays(queries: int, keys: int, *, batch: int = 3, heads: int = 2) -> list[jax.Array]:
    rng = np.random.default_rng(queries + keys)
    shapes = [(batch, n, heads, 16) for n in (queries, keys, keys, queries)]
    return [jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in shapes]


def test_what_lies_behind_the_places_is_neither_read_nor_written() -> None:
    """On a GPU it is the next row's."""

    def kernel(x: Any, before: Any, out: Any) -> None:
        del before  # the same memory as `out`
        read = kernels._read(x, 9)
        kernels._write(out, read + read[9:10].sum() + 1, 9)

    given, before = jnp.full((16, 16), 5.0), jnp.full((16, 16), 7.0)
    run = pl.pallas_call(kernel, before, input_output_aliases={1: 0}, interpret=True)
    found = np.asarray(run(given, before))
    assert (found[:9] == 6).all()
    assert (found[9:] == 7).all()


PLACES = [(9, 9), (16, 16), (77, 77), (3, 20), (20, 3)]
# Each number of places and each restriction; `make soak` has all pairs of them.
SAMPLE = {((9, 9), "causal, lengths"), ((16, 16), "all"), ((77, 77), "causal")}
SAMPLE |= {((3, 20), "lengths"), ((20, 3), "causal, lengths")}


@pytest.mark.parametrize(
    ("places", "name"),
    [
        pytest.param(*pair, marks=[] if pair in SAMPLE else [pytest.mark.soak])
        for pair in itertools.product(PLACES, RESTRICTIONS)
    ],
)
def test_as_plain_products(name: str, places: tuple[int, int]) -> None:
    """FLAX-7: outputs and gradients, whether rows fill their block or not; no key, no NaN."""
    q, k, v, weight = arrays(*places)
    visible = RESTRICTIONS[name]

    def both(backend: Any) -> tuple[jax.Array, Any]:
        def total(*given: jax.Array) -> tuple[jax.Array, jax.Array]:
            out = attention(*given, visible, scale=0.3, backend=backend)
            return jnp.sum(out * weight), out

        (_, out), back = jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True)(q, k, v)
        return out, back

    (out, back), (expected, gradients) = jax.jit(lambda: (both("short"), both("xla")))()
    np.testing.assert_allclose(out, expected, atol=2e-6)
    for ours, theirs in zip(back, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_bfloat16_keeps_its_type_and_sums_in_float32() -> None:
    q, k, v, weight = (x.astype(jnp.bfloat16) for x in arrays(50, 50))

    def total(*given: jax.Array) -> jax.Array:
        out = attention(*given, backend="short")
        assert out.dtype == jnp.bfloat16
        return jnp.sum(out * weight)

    def exactly(*given: jax.Array) -> jax.Array:
        return jnp.sum(attention(*given) * weight.astype(jnp.float32))

    exact = jax.jit(jax.grad(exactly, (0, 1, 2)))(*(x.astype(jnp.float32) for x in (q, k, v)))
    for ours, expected in zip(jax.jit(jax.grad(total, (0, 1, 2)))(q, k, v), exact, strict=True):
        assert ours.dtype == jnp.bfloat16
        np.testing.assert_allclose(ours.astype(jnp.float32), expected, atol=0.03)


def test_under_vmap() -> None:
    q, k, v, _ = (x[:, None] for x in arrays(7, 7))
    lengths = jnp.asarray([5])

    def one(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.sum(short_attention(q, k, v, lengths, causal=False, scale=0.3) ** 2)

    take = jax.jit(jax.value_and_grad(one))
    mapped = jax.jit(jax.vmap(jax.value_and_grad(one)))(q, k, v)
    alone = [take(*row) for row in zip(q, k, v, strict=True)]
    for i, (total, gradient) in enumerate(alone):
        np.testing.assert_allclose(mapped[0][i], total, rtol=1e-6)
        np.testing.assert_allclose(mapped[1][i], gradient, atol=1e-6)
    shared = jax.jit(jax.vmap(one, in_axes=(0, None, None)))(q, k[0], v[0])
    np.testing.assert_allclose(shared[1], take(q[1], k[0], v[0])[0], rtol=1e-6)


def test_all_layers_and_calls_share_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = []

    def run(*given: Any) -> tuple[jax.Array, ...]:
        traced.append(given)
        return kernel_run(*given)

    kernel_run = kernels._run
    monkeypatch.setattr(kernels, "_run", run)

    def layers(x: jax.Array, num: int) -> jax.Array:
        for _ in range(num):
            x = attention(x, x, x, scale=0.125, backend="short")
        return jnp.sum(x)

    x = arrays(5, 5, batch=1)[0]
    jax.make_jaxpr(jax.grad(layers), static_argnums=1)(x, 1)
    before = len(traced)
    jax.make_jaxpr(jax.grad(layers), static_argnums=1)(x, 3)
    layers(x, 1)
    assert len(traced) == before > 0


def test_rows_and_heads_stay_where_they_are() -> None:
    """Split over devices by batch and heads, nothing is gathered; split places are put together."""
    mesh = Mesh(np.asarray(jax.devices()[:8]).reshape(4, 2), ("data", "heads"))
    given = arrays(6, 6, batch=4)[:3]

    def gradients(q: jax.Array, k: jax.Array, v: jax.Array) -> Any:
        lengths = jnp.asarray([6, 2, 5, 0])

        def total(*given: jax.Array) -> jax.Array:
            return jnp.sum(short_attention(*given, lengths, causal=True, scale=0.3) ** 2)

        return jax.grad(total, (0, 1, 2))(q, k, v)

    expected = jax.jit(gradients)(*given)
    for spec, gathers in ((("data", None, "heads"), False), (("data", "heads"), True)):
        split = [jax.device_put(x, NamedSharding(mesh, PartitionSpec(*spec))) for x in given]
        program = jax.jit(gradients).lower(*split).compile()
        assert ("all-gather" in program.as_text()) == gathers
        for ours, wanted in zip(program(*split), expected, strict=True):
            np.testing.assert_allclose(ours, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "kv_heads", "visible"),
    [
        ((2, 129, 2, 16), 2, ALL),
        ((2, 8, 2, 24), 2, ALL),
        ((2, 8, 2, 16), 1, ALL),
        ((2, 8, 2, 16), 2, Visible(causal=True, starts=jnp.zeros(2, jnp.int32))),
        ((2, 8, 2, 16), 2, Visible(segments=(jnp.zeros((2, 8), jnp.int32),) * 2)),
    ],
    ids=["long", "odd heads", "grouped", "starts", "segments"],
)
def test_what_it_does_not_take(
    shape: tuple[int, int, int, int], kv_heads: int, visible: Visible
) -> None:
    q = jnp.zeros(shape)
    k = jnp.zeros((*shape[:2], kv_heads, shape[3]))
    with pytest.raises(ValueError, match="short attention needs up to 128 positions"):
        attention(q, k, k, visible, backend="short")


def test_it_needs_automatic_sharding() -> None:
    q = jnp.zeros((8, 8, 1, 16))
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


def test_it_is_chosen_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    q = jnp.zeros((1, 50, 2, 64), jnp.bfloat16)
    assert _best(q, q, ALL) == "xla"
    on_a_gpu(monkeypatch, "9.0")
    assert _best(q, q, ALL) == "short"
    long = jnp.zeros((1, 200, 2, 64), jnp.bfloat16)
    assert _best(long, long, ALL) == "cudnn"
    assert _best(q[:, :1], q, ALL) == "xla"
    assert _best(q[:0], q[:0], ALL) == "xla"
    assert _best(q.astype(jnp.float32), q, ALL) == "xla"


@pytest.mark.parametrize(
    ("capability", "chosen"), [("10.0", "short"), ("7.5", "xla"), ("gfx942", "xla")]
)
def test_gpus_that_are_old_or_not_nvidia(
    capability: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither fused kernel runs before Ampere; AMD's are a "gpu" to JAX as well."""
    on_a_gpu(monkeypatch, capability)
    q = jnp.zeros((1, 50, 2, 64), jnp.bfloat16)
    assert _best(q, q, ALL) == chosen


def test_where_pallas_is_missing_or_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_gpu(monkeypatch, "9.0")
    q = jnp.zeros((8, 50, 2, 64), jnp.bfloat16)
    chosen = []

    def note(q: jax.Array) -> jax.Array:
        chosen.append(_best(q, q, ALL))
        return q

    mesh, rows = Mesh(np.asarray(jax.devices()[:8]), ("data",)), PartitionSpec("data")
    jax.eval_shape(jax.shard_map(note, mesh=mesh, in_specs=rows, out_specs=rows), q)
    explicit = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Explicit,))
    jax.jit(note)(jax.device_put(q, NamedSharding(explicit, rows)))
    assert chosen == ["cudnn", "cudnn"]
    jax.jit(note)(jax.device_put(q, NamedSharding(mesh, rows)))
    assert chosen[-1] == "short"
    monkeypatch.setitem(sys.modules, "barrow.nn.attention.short_attention", None)
    assert _best(q, q, ALL) == "cudnn"
