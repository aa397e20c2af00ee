"""Rematerialisation (FLAX-3, FLAX-12, DEEPSPEED-8)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import print_saved_residuals
from jax.extend.core import jaxprs_in_params

from barrow import nn
from barrow.nn.layers.remat import ATTENTION, ATTENTION_ONLY, CHEAP, EVERYTHING


@dataclass(frozen=True)
class Layer(nn.Module):
    hidden: int = 256

    def forward(self, scope, x, each=None):
        y = nn.LayerNorm()(scope / "norm", x)
        y = nn.named(jnp.tanh(nn.Dense(self.hidden)(scope / "up", y)), "hidden")
        scope.capture("hidden", y)
        return x + nn.Dense(x.shape[-1])(scope / "down", y), None


@dataclass(frozen=True)
class Stack(nn.Module):
    """Eight layers by hand, each wrapped or not."""

    policy: nn.Policy | None = None
    num: int = 8

    def forward(self, scope, x):
        for k in range(self.num):
            layer = Layer() if self.policy is None else nn.Remat(Layer(), self.policy)
            x, _ = layer(scope / f"layer_{k}", x)
        return x


X = jnp.asarray(np.random.default_rng(0).normal(size=(64, 64)), jnp.float32)
POLICIES = [
    nn.Policy(),
    nn.Policy(keep=("hidden",)),
    nn.Policy(keep_dots=True),
    nn.Policy(keep=("hidden",), keep_dots=True),
]


def gradient(model):
    return jax.jit(jax.grad(lambda params: jnp.sum(model.apply(params, X) ** 2)))


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_are_equal_whatever_is_kept(policy) -> None:
    """FLAX-3: to 1e-5; and the parameters are the same."""
    params = Stack(num=2).init(jax.random.key(0), X)
    assert nn.describe(Stack(policy, 2), X).keys() == nn.describe(Stack(num=2), X).keys()
    plain, ours = gradient(Stack(num=2))(params), gradient(Stack(policy, 2))(params)
    for path, wanted in nn.paths(plain).items():
        scale = float(jnp.max(jnp.abs(wanted)))
        np.testing.assert_allclose(nn.paths(ours)[path], wanted, atol=1e-5 * scale, err_msg=path)


@pytest.mark.parametrize(
    "model",
    [nn.Repeat(Layer(), 8, remat=nn.Policy()), nn.Repeat(nn.Remat(Layer()), 8)],
    ids=["Repeat(remat=...)", "Repeat(Remat)"],
)
def test_compiled_temporary_memory_falls_by_a_third(model) -> None:
    """FLAX-3: at least 30 % less, with equal gradients."""
    plain = nn.Repeat(Layer(), 8)
    params = plain.init(jax.random.key(0), X)
    assert nn.paths(params).keys() == nn.describe(model, X).keys()
    found = []
    for each in (plain, model):
        step = jax.jit(jax.grad(lambda params, each=each: jnp.sum(each.apply(params, X)[0] ** 2)))
        compiled = step.lower(params).compile()
        found.append((compiled.memory_analysis().temp_size_in_bytes, compiled(params)))
    assert found[1][0] < 0.7 * found[0][0]
    for path, wanted in nn.paths(found[0][1]).items():
        scale = float(jnp.max(jnp.abs(wanted)))
        np.testing.assert_allclose(nn.paths(found[1][1])[path], wanted, atol=1e-5 * scale)


def saved(policy, capsys):
    """Shapes of what is kept, besides parameters and inputs."""
    model = nn.Remat(Layer(32), policy)
    params = model.init(jax.random.key(0), X[:5])
    print_saved_residuals(lambda p: jnp.sum(model.apply(p, X[:5])[0]), params)
    lines = capsys.readouterr().out.splitlines()
    return sorted(
        line.split()[0] for line in lines if "argument" not in line and "constant" not in line
    )


def test_what_is_kept(capsys) -> None:
    hidden = "f32[5,32]"
    assert hidden not in saved(nn.Policy(), capsys)
    assert saved(nn.Policy(keep=("hidden",)), capsys).count(hidden) == 1
    assert saved(nn.Policy(keep=("other",)), capsys).count(hidden) == 0
    assert hidden in saved(nn.Policy(keep_dots=True), capsys)
    both = saved(nn.Policy(keep=("hidden",), keep_dots=True), capsys)
    assert both.count(hidden) == 2


def test_attention_only_keeps_products_with_weights_alone(capsys) -> None:
    @dataclass(frozen=True)
    class Attention(nn.Module):
        def forward(self, scope, x):
            q, k, v = (nn.Dense(4)(scope / name, x) for name in "qkv")
            weights = jax.nn.softmax(q @ k.swapaxes(1, 2))
            return nn.Dense(4)(scope / "out", nn.named(weights @ v, ATTENTION))

    def kept(policy):
        model = nn.Remat(Attention(), policy)
        x = jnp.ones((2, 7, 4))
        params = model.init(jax.random.key(0), x)
        print_saved_residuals(lambda p: jnp.sum(model.apply(p, x)), params)
        lines = capsys.readouterr().out.splitlines()
        shapes = [line.split()[0] for line in lines if "constant" not in line]
        # Products with weights are taken of rows.
        rows = shapes.count("f32[14,4]") + shapes.count("f32[2,7,4]")
        return shapes.count("f32[2,7,7]"), rows

    assert kept(ATTENTION_ONLY) == (0, 3)
    assert kept(EVERYTHING) == (0, 0)
    assert kept(nn.Policy(keep=(ATTENTION,))) == (0, 1)


def test_intermediates_come_out_of_it() -> None:
    """FLAX-11."""
    params = Stack(num=2).init(jax.random.key(0), X)
    found = [
        Stack(policy, 2).apply_and_collect(params, X, mutable=("intermediates",))[1]
        for policy in (None, nn.Policy())
    ]
    assert set(nn.paths(found[1])) == {f"intermediates/layer_{k}/hidden" for k in range(2)}
    for path, value in nn.paths(found[0]).items():
        np.testing.assert_allclose(nn.paths(found[1])[path], value, rtol=1e-5, atol=1e-6)


def test_keyword_arguments_pass() -> None:
    @dataclass(frozen=True)
    class Shifted(nn.Module):
        def forward(self, scope, x, *, by):
            return x + by

    assert float(nn.Remat(Shifted()).apply({}, jnp.zeros(()), by=2.0)) == 2


def products(policy) -> list[bool]:
    """Of each product in a block's gradient, whether it is of attention, over rows of a batch."""
    block = nn.Block(nn.MultiHead(4, causal=True), nn.MLP(256, gated=True, activation="silu"))
    model = block if policy is None else nn.Remat(block, policy)
    x = X.reshape(2, 32, 64)
    params = model.init(jax.random.key(0), x)
    found: list[bool] = []

    def look(jaxpr) -> None:
        for equation in jaxpr.eqns:
            if equation.primitive.name == "dot_general":
                found.append(bool(equation.params["dimension_numbers"][1][0]))
            for inner in jaxprs_in_params(equation.params):
                look(inner)

    grad = jax.grad(lambda params: jnp.sum(model.apply(params, x)[0] ** 2))
    look(jax.make_jaxpr(grad)(params).jaxpr)
    return found


def test_what_is_cheap_has_no_product_with_weights() -> None:
    kept, cheap, all_again = products(None), products(CHEAP), products(EVERYTHING)
    assert cheap.count(False) == kept.count(False) < all_again.count(False)
    assert cheap.count(True) > kept.count(True)  # of plain attention, which has no fused kernel


def test_results_of_fused_attention_are_kept() -> None:
    from jax._src.cudnn import fused_attention_stablehlo as fused

    keeps = CHEAP.saveable()
    assert keeps(fused._dot_product_attention_fwd_p_wrapper)
    assert not keeps(jax.lax.dot_general_p)
    assert not EVERYTHING.saveable()(fused._dot_product_attention_fwd_p_wrapper)
