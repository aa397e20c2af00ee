"""FLOPs from the equations (FLAX-13, DEEPSPEED-3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def test_products_exactly() -> None:
    assert nn.flops(jnp.matmul, array(3, 4), array(4, 5)).total == 2 * 3 * 4 * 5
    assert nn.flops(jnp.matmul, array(7, 3, 4), array(7, 4, 5)).total == 7 * 2 * 3 * 4 * 5
    einsum = partial(jnp.einsum, "bqhd,bkhd->bhqk")
    assert nn.flops(einsum, array(2, 5, 3, 4), array(2, 6, 3, 4)).total == 2 * 2 * 3 * 5 * 6 * 4
    assert nn.flops(jnp.tanh, array(1000)).total == 0


@golden("torch")
def counted_by_torch(dims, settings):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    theirs = getattr(torch.nn, f"Conv{dims}d")(4, 6, 3, **settings)
    with FlopCounterMode(display=False) as counter:
        theirs(torch.randn(2, 4, *(9,) * dims))
    return counter.get_total_flops()


@golden("torch")
def gradient_counted_by_torch():
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    theirs = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8))
    with FlopCounterMode(display=False) as counter:
        theirs(torch.randn(5, 8, requires_grad=True)).sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("dims", "settings"),
    [
        (1, {"stride": 2, "padding": 1}),
        (2, {"stride": 1, "padding": 1, "groups": 2}),
        (2, {"stride": 2, "padding": 0, "dilation": 2}),
        (3, {"stride": 1, "padding": 0}),
    ],
)
def test_convolutions_as_torch_counts_them(dims, settings) -> None:
    padding = ((settings["padding"],) * 2,) * dims
    model = nn.Conv(
        6,
        (3,) * dims,
        settings["stride"],
        padding,
        settings.get("dilation", 1),
        settings.get("groups", 1),
    )
    shape = array(2, *(9,) * dims, 4)
    params = jax.eval_shape(model.init, jax.random.key(0), shape)
    assert nn.flops(model.apply, params, shape).total == counted_by_torch(dims, settings)


def test_a_transformer_within_one_per_cent_of_the_analytic_count() -> None:
    """DEEPSPEED-3: 2·tokens·weights, and 4·T²·d for attention in each layer."""
    width, hidden, heads, layers, length, batch, vocab = 64, 256, 4, 6, 32, 2, 100

    @dataclass(frozen=True)
    class Block(nn.Module):
        def forward(self, scope, x, each=None):
            y = nn.LayerNorm()(scope / "norm", x)
            axes = ("embed", "heads", "head_dim")
            q, k, v = (
                nn.Dense((heads, width // heads), axes=axes)(scope / name, y) for name in "qkv"
            )
            weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
            y = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
            x = x + nn.Dense(width, num_in=2, axes=axes[::-1])(scope / "out", y)
            return x + nn.MLP(hidden)(scope / "mlp", x), None

    @dataclass(frozen=True)
    class Model(nn.Module):
        unroll: bool = False
        remat: nn.Policy | None = None

        def forward(self, scope, ids):
            x = nn.Embed(vocab, width)(scope / "embed", ids)
            repeat = nn.Repeat(Block(), layers, unroll=self.unroll, remat=self.remat)
            x, _ = repeat(scope / "layers", x)
            return nn.Dense(vocab, bias=False)(scope / "head", x)

    ids = jax.ShapeDtypeStruct((batch, length), jnp.int32)
    params = jax.eval_shape(Model().init, jax.random.key(0), ids)
    tokens = batch * length
    weights = layers * (4 * width * width + 2 * width * hidden) + vocab * width
    analytic = 2 * tokens * weights + layers * 4 * tokens * length * width
    for model in (Model(), Model(unroll=True), Model(remat=nn.Policy())):
        forward = nn.flops(model.apply, params, ids)
        assert forward.total == pytest.approx(analytic, rel=0.01)
        assert forward.below("Model/layers/mlp") == 2 * tokens * layers * 2 * width * hidden
        assert forward.below("Model/head") == 2 * tokens * vocab * width
        assert forward.unknown == ()

        def loss(params, ids, model=model):
            return jnp.sum(model.apply(params, ids))

        both = nn.flops(jax.value_and_grad(loss), params, ids)
        # The backward pass is twice the forward; with remat all but the last product of a layer
        # is computed again.
        if model.remat is None:
            assert both.total == pytest.approx(3 * analytic, rel=0.01)
        else:
            assert 3.3 * analytic < both.total < 4 * analytic
        assert set(both.by_path) == set(forward.by_path)


def test_as_torch_counts_a_gradient() -> None:
    model = nn.MLP(16)
    params = jax.eval_shape(model.init, jax.random.key(0), array(5, 8))
    step = jax.value_and_grad(lambda p, x: jnp.sum(model.apply(p, x)), argnums=(0, 1))
    assert nn.flops(step, params, array(5, 8)).total == gradient_counted_by_torch()


MATRIX = array(4, 4)
ONE = 2 * 4**3


def test_through_what_wraps_it() -> None:
    @jax.custom_vjp
    def own(x):
        return x @ x

    own.defvjp(lambda x: (own(x), x), lambda x, g: (g @ x + x @ g,))
    assert nn.flops(own, MATRIX).total == ONE
    assert nn.flops(jax.grad(lambda x: jnp.sum(own(x))), MATRIX).total == 3 * ONE

    @jax.custom_jvp
    def other(x):
        return x @ x

    other.defjvp(lambda p, t: (other(*p), t[0] @ p[0]))
    assert nn.flops(other, MATRIX).total == ONE
    assert nn.flops(jax.jit(jax.jit(lambda x: x @ x)), MATRIX).total == ONE
    assert nn.flops(jax.checkpoint(lambda x: x @ x), MATRIX).total == ONE
    assert nn.flops(jax.vmap(lambda x: x @ x), array(3, 4, 4)).total == 3 * ONE
    twice = jax.lax.scan
    nested = lambda x: twice(  # noqa: E731
        lambda a, _: (twice(lambda b, _: (b @ b, None), a, None, length=5)[0], None),
        x,
        None,
        length=3,
    )
    assert nn.flops(nested, MATRIX).total == 15 * ONE


def test_over_devices_it_is_the_work_of_all() -> None:
    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.PartitionSpec("data")
    mapped = jax.shard_map(
        lambda x, w: x @ w,
        mesh=mesh,
        in_specs=(rows, jax.sharding.PartitionSpec()),
        out_specs=rows,
    )
    assert nn.flops(mapped, array(8, 4), MATRIX).total == 2 * 8 * 4 * 4


def test_branches_and_loops_say_what_is_not_known() -> None:
    def branch(p, x):
        return jax.lax.cond(p, lambda x: x @ x @ x, lambda x: x @ x, x)

    found = nn.flops(branch, jnp.array(True), MATRIX)
    assert (found.total, found.unknown) == (2 * ONE, ())

    def loop(x):
        with jax.named_scope("loop"):
            return jax.lax.while_loop(lambda x: jnp.sum(x) < 9, lambda x: x @ x, x)

    found = nn.flops(loop, MATRIX)
    assert found.total == ONE
    assert found.unknown == (
        "loop: one iteration of a while loop is counted; their number is unknown",
    )
    # A loop without products leaves no doubt.
    quiet = nn.flops(lambda x: jax.lax.while_loop(lambda x: jnp.sum(x) < 9, jnp.cos, x), MATRIX)
    assert quiet.unknown == ()
    found = nn.flops(jnp.linalg.cholesky, MATRIX)
    assert found.unknown == ("function: cholesky is not counted",)


def test_names() -> None:
    def named(x):
        with jax.named_scope("a"):
            x = x @ x
            with jax.named_scope("b"):
                return x @ x

    found = nn.flops(named, MATRIX)
    assert dict(found.by_path) == {"a": ONE, "a/b": ONE}
    assert (found.below("a"), found.below("a/b"), found.below("")) == (2 * ONE, ONE, 2 * ONE)
    back = nn.flops(jax.grad(lambda x: jnp.sum(named(x))), MATRIX)
    assert set(back.by_path) == {"a", "a/b"}
    assert np.sum(list(back.by_path.values())) == back.total == 6 * ONE


def test_the_kernel_of_cudnn_as_the_products_it_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """DEEPSPEED-3: traced only. Its backward pass computes the logits again: 5 products, not 4."""
    from jax._src.cudnn import fused_attention_stablehlo as kernel

    monkeypatch.setattr(kernel, "check_cudnn_version", lambda: 91000)
    monkeypatch.setattr(kernel, "check_is_flash_attention", lambda *_, **__: None)
    monkeypatch.setattr(kernel, "check_compute_capability", lambda *_, **__: True)
    q, k = (jax.ShapeDtypeStruct((2, t, 4, 16), jnp.bfloat16) for t in (32, 64))

    def attend(how, q, k, v):
        return jax.nn.dot_product_attention(q, k, v, implementation=how).astype(jnp.float32).sum()

    for function, more in ((lambda f: f, 0), (lambda f: jax.grad(f, argnums=(0, 1, 2)), 1)):
        plain, fused = (
            nn.flops(function(partial(attend, how)), q, k, k) for how in ("xla", "cudnn")
        )
        assert fused.total == plain.total + more * 2 * 2 * 32 * 64 * 4 * 16
        assert fused.unknown == ()
