from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn.attention.cache import Cache
from barrow.nn.attention.multi_head import MultiHead
from barrow.nn.attention.rotary import Rotary

WIDTH, HEADS, LENGTH = 24, 4, 7


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


def made(module: MultiHead, batch: int = 3) -> tuple[Any, jax.Array]:
    x = jax.random.normal(jax.random.key(1), (batch, LENGTH, WIDTH))
    return drawn(module, x), x


@golden("torch")
def by_torch(params: Any, x: Any, *, causal: bool) -> Any:
    """The output, and the gradients with respect to x and the kernels of q, k and v."""
    import torch

    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    kernels = [np.asarray(params[f"{n}/kernel"]).reshape(WIDTH, WIDTH).T for n in "qkv"]
    biases = [np.asarray(params[f"{n}/bias"]).reshape(WIDTH) for n in "qkv"]
    back = np.asarray(params["out/kernel"]).reshape(WIDTH, WIDTH).T
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.tensor(np.concatenate(kernels)))
        theirs.in_proj_bias.copy_(torch.tensor(np.concatenate(biases)))
        theirs.out_proj.weight.copy_(torch.tensor(back))
        theirs.out_proj.bias.copy_(torch.tensor(np.asarray(params["out/bias"])))
    tx = torch.tensor(np.asarray(x), requires_grad=True)
    mask = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1) if causal else None
    out, _ = theirs(tx, tx, tx, attn_mask=mask, need_weights=False)
    out.sin().sum().backward()
    assert theirs.in_proj_weight.grad is not None
    return out, tx.grad, theirs.in_proj_weight.grad.reshape(3, WIDTH, WIDTH)


@pytest.mark.parametrize("causal", [False, True])
def test_as_pytorch_does(causal: bool) -> None:
    """FLAX-7: torch.nn.MultiheadAttention, forward and gradients of the input and weights."""
    module = MultiHead(HEADS, causal=causal)
    params, x = made(module)
    out, wanted, kernels = by_torch(nn.paths(params), x, causal=causal)

    def loss(params: Any, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        y, _ = module.apply(params, x)
        return jnp.sum(jnp.sin(y)), y

    (of_params, of_x), ours = jax.jit(jax.grad(loss, (0, 1), has_aux=True))(params, x)
    np.testing.assert_allclose(ours, out, atol=1e-5)
    np.testing.assert_allclose(of_x, wanted, atol=1e-4, rtol=1e-4)
    for name, grad in zip("qkv", kernels, strict=True):
        mine = np.asarray(of_params[name]["kernel"]).reshape(WIDTH, WIDTH).T
        np.testing.assert_allclose(mine, grad, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("kv_heads", "rotary"),
    [
        (4, None),
        (2, Rotary(dim=4)),
        pytest.param(1, None, marks=pytest.mark.soak),
        pytest.param(4, Rotary(dim=4), marks=pytest.mark.soak),
        pytest.param(2, None, marks=pytest.mark.soak),
        (1, Rotary(dim=4)),
    ],
)
def test_one_at_a_time_equals_all_at_once(kv_heads: int, rotary: Rotary | None) -> None:
    """FLAX-7: with a cache, in pieces and with rows of different lengths."""
    module = MultiHead(HEADS, kv_heads=kv_heads, causal=True, rotary=rotary)
    params, x = made(module)
    run = jax.jit(module.apply)
    full, _ = run(params, x)
    cache = Cache.empty(3, LENGTH + 2, kv_heads, WIDTH // HEADS, jnp.dtype(jnp.float32))
    lengths = jnp.asarray([3, 1, 4])
    y, cache = run(params, x[:, :4], lengths=lengths, cache=cache)
    for row, length in enumerate([3, 1, 4]):
        np.testing.assert_allclose(y[row, :length], full[row, :length], atol=1e-5)
    for step in range(3):
        at = lengths + step
        one = jnp.take_along_axis(x, at[:, None, None], axis=1)
        y, cache = run(params, one, cache=cache)
        expected = jnp.take_along_axis(full, at[:, None, None], axis=1)
        np.testing.assert_allclose(y, expected, atol=1e-5)
    assert cache.lengths.tolist() == [6, 4, 7]


def test_padding_changes_nothing() -> None:
    module = MultiHead(HEADS)
    params, x = made(module)
    lengths = jnp.asarray([7, 4, 2])
    run = jax.jit(module.apply)
    padded, _ = run(params, x, lengths=lengths)
    for row, length in enumerate([7, 4, 2]):
        alone, _ = run(params, x[row : row + 1, :length])
        np.testing.assert_allclose(padded[row : row + 1, :length], alone, atol=1e-5)


def test_segments_part_documents() -> None:
    module = MultiHead(HEADS, causal=True, rotary=Rotary())
    params, x = made(module)
    segments = jnp.asarray([[0, 0, 0, 1, 1, 1, 1]] * 3)
    positions = jnp.asarray([[0, 1, 2, 0, 1, 2, 3]] * 3)
    run = jax.jit(module.apply)
    whole, _ = run(params, x, segments=segments, positions=positions)
    parts = [run(params, part)[0] for part in (x[:, :3], x[:, 3:])]
    np.testing.assert_allclose(whole, jnp.concatenate(parts, axis=1), atol=1e-5)


def test_weights_can_be_captured() -> None:
    module = MultiHead(HEADS, causal=True)
    params, x = made(module)
    (_, _), found = module.apply_and_collect(params, x, mutable=("intermediates",))
    weights = found["intermediates"]["weights"]
    assert weights.shape == (3, HEADS, LENGTH, LENGTH)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    assert np.all(np.triu(np.asarray(weights)[0, 0], 1) == 0)


def test_axes_have_heads_of_their_own() -> None:
    module = MultiHead(HEADS, kv_heads=2, bias=False, out_bias=False)
    found = nn.axes(module, jnp.zeros((1, 2, WIDTH)))
    assert nn.paths(found) == {
        "k/kernel": ("embed", "kv_heads", "head_dim"),
        "out/kernel": ("heads", "head_dim", "embed"),
        "q/kernel": ("embed", "heads", "head_dim"),
        "v/kernel": ("embed", "kv_heads", "head_dim"),
    }


def test_heads_that_do_not_divide_are_refused() -> None:
    x = jnp.zeros((1, 2, 10))
    with pytest.raises(ValueError, match="4 heads do not divide a width of 10"):
        MultiHead(4).init(jax.random.key(0), x)
    with pytest.raises(ValueError, match="3 key heads do not divide 5 heads"):
        MultiHead(5, kv_heads=3).init(jax.random.key(0), x)


def test_on_a_gpu_products_can_add_all_gradients_of_x(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA adds the other term within a product if that product is the first term of the sum."""
    module = MultiHead(HEADS, backend="xla")
    params, x = made(module)

    def gradient(x: jax.Array) -> jax.Array:
        return jax.grad(lambda x: module.apply(params, x)[0].sum())(x)

    plain = gradient(x)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    program = jax.make_jaxpr(gradient)(x)
    makers = {out: eqn for eqn in program.eqns for out in eqn.outvars}

    def made_by(variable: Any) -> str:
        while makers[variable].primitive.name in ("reshape", "jit", "pjit", "transpose"):
            variable = makers[variable].invars[0]
        return makers[variable].primitive.name

    sums = [e for e in program.eqns if e.primitive.name == "add_any"]
    sums = [e for e in sums if e.outvars[0].aval.shape[-1] == WIDTH]
    assert [[made_by(term) for term in one.invars] for one in sums] == [
        ["dot_general", "dot_general"],
        ["dot_general", "add_any"],
    ]
    np.testing.assert_allclose(gradient(x), plain, rtol=1e-5, atol=1e-4)
