from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn.attention.multi_head import MultiHead
from barrow.nn.layers.block import Block, Norms
from barrow.nn.layers.mlp import MLP

WIDTH, HEADS, HIDDEN = 16, 4, 24


def block(norms: Norms, dropout: float = 0.0) -> Block:
    return Block(MultiHead(HEADS), MLP(HIDDEN, "relu"), nn.LayerNorm(), norms, dropout)


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


def made(module: Block) -> tuple[Any, jax.Array]:
    x = jax.random.normal(jax.random.key(1), (2, 5, WIDTH))
    return drawn(module, x), x


@golden("torch")
def by_torch(params: Any, x: Any, *, first: bool) -> Any:
    """The output of an encoder's layer with these parameters, and a gradient with respect to x."""
    import torch

    theirs = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True, norm_first=first
    )
    kernels = [np.asarray(params[f"attention/{n}/kernel"]).reshape(WIDTH, WIDTH).T for n in "qkv"]
    state = {
        "self_attn.in_proj_weight": np.concatenate(kernels),
        "self_attn.in_proj_bias": np.concatenate(
            [np.asarray(params[f"attention/{n}/bias"]).reshape(-1) for n in "qkv"]
        ),
        "self_attn.out_proj.weight": np.asarray(params["attention/out/kernel"])
        .reshape(WIDTH, WIDTH)
        .T,
        "self_attn.out_proj.bias": params["attention/out/bias"],
        "linear1.weight": np.asarray(params["mlp/up/kernel"]).T,
        "linear1.bias": params["mlp/up/bias"],
        "linear2.weight": np.asarray(params["mlp/down/kernel"]).T,
        "linear2.bias": params["mlp/down/bias"],
        "norm1.weight": params["attention_norm/scale"],
        "norm1.bias": params["attention_norm/bias"],
        "norm2.weight": params["mlp_norm/scale"],
        "norm2.bias": params["mlp_norm/bias"],
    }
    theirs.load_state_dict({k: torch.tensor(np.array(v)) for k, v in state.items()})
    tx = torch.tensor(np.asarray(x), requires_grad=True)
    out = theirs(tx)
    out.sin().sum().backward()
    return out, tx.grad


@pytest.mark.parametrize(("norms", "first"), [("pre", True), ("post", False)])
def test_as_pytorch_does(norms: Norms, first: bool) -> None:
    """FLAX-7: torch.nn.TransformerEncoderLayer, norms before and after; forward and gradient."""
    module = block(norms)
    params, x = made(module)
    out, of_x = by_torch(nn.paths(params), x, first=first)

    @jax.jit
    @functools.partial(jax.grad, has_aux=True)
    def ours(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        y, _ = module.apply(params, x)
        return jnp.sin(y).sum(), y

    gradient, y = ours(x)
    np.testing.assert_allclose(y, out, atol=1e-5)
    np.testing.assert_allclose(gradient, of_x, atol=1e-5, rtol=1e-4)


def test_parallel_is_the_sum_of_both() -> None:
    module = block("parallel")
    params, x = made(module)
    norm = nn.LayerNorm()
    attended, _ = MultiHead(HEADS).apply(
        params["attention"], norm.apply(params["attention_norm"], x)
    )
    fed = MLP(HIDDEN, "relu").apply(params["mlp"], norm.apply(params["mlp_norm"], x))
    np.testing.assert_allclose(module.apply(params, x)[0], x + attended + fed, atol=1e-5)


def test_dropout_only_with_a_key() -> None:
    module = block("pre", dropout=0.5)
    params, x = made(module)
    still = module.apply(params, x)[0]
    np.testing.assert_allclose(still, block("pre").apply(params, x)[0], atol=1e-6)
    dropped = module.apply(params, x, keys={"dropout": jax.random.key(3)})[0]
    assert np.abs(np.asarray(dropped - still)).max() > 0.1


def test_context_reaches_attention() -> None:
    module = block("pre")
    params, x = made(module)
    short = module.apply(params, x, None, {"lengths": jnp.asarray([3, 3])})[0]
    np.testing.assert_allclose(short[:, :3], module.apply(params, x[:, :3])[0], atol=1e-5)


def test_hidden_states_are_shown_to_who_asks() -> None:
    module = block("post")
    params, x = made(module)
    (y, _), found = module.apply_and_collect(params, x, mutable=("intermediates",))
    assert np.array_equal(found["intermediates"]["hidden"], y)
