"""Mixtures of experts, against a loop over tokens in float64 (DEEPSPEED-11)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.nn.layers.experts import ROUTER, Experts, Routing

BATCH, LENGTH, WIDTH, HIDDEN = 3, 12, 8, 6


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def by_hand(x: Any, params: Any, routing: Routing, real: Any, is_training: bool) -> Any:
    """Outputs, and what is written for each row: token by token."""
    router = np.asarray(params["router"]["kernel"], np.float64)
    gate, up, down = (
        np.asarray(params["experts"][name]["kernel"], np.float64) for name in ("gate", "up", "down")
    )
    out, written = np.zeros(x.shape), []
    for row, there in enumerate(real):
        logits = x[row].astype(np.float64) @ router
        p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        best = np.argsort(-p, axis=-1)[:, : routing.top_k]
        load, taken, dropped = np.zeros(routing.count), np.zeros(routing.count), 0
        for choice in range(routing.top_k):
            for t in np.nonzero(there)[0]:
                expert = best[t, choice]
                load[expert] += 1
                if is_training and taken[expert] >= routing.room(LENGTH):
                    dropped += 1
                    continue
                taken[expert] += 1
                weight = p[t, expert] / (p[t, best[t]].sum() if routing.normalise else 1)
                y = silu(x[row, t] @ gate[expert]) * (x[row, t] @ up[expert])
                out[row, t] += weight * (y @ down[expert])
        num = there.sum()
        squares = np.log(np.exp(logits).sum(axis=-1)) ** 2
        balance = routing.count * (load / num * p[there].mean(axis=0)).sum()
        z = squares[there].mean()
        written.append(
            {
                "balance": balance,
                "z": z,
                "load": load,
                "dropped": dropped,
                "kept": taken.sum(),
                "penalty": routing.balance * balance + routing.z * z,
            }
        )
    return out, {name: np.array([row[name] for row in written]) for name in written[0]}


def made(routing: Routing, seed: int = 0) -> tuple[Experts, Any, Any, Any]:
    module = Experts(routing, HIDDEN)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(BATCH, LENGTH, WIDTH)).astype(np.float32)
    real = np.arange(LENGTH) < np.array([LENGTH, 7, 1])[:, None]
    params = jax.jit(module.init)(jax.random.key(seed), x)
    # Far from even, so that there is something to drop.
    router = params["router"]["kernel"] * 3 + jnp.arange(routing.count) * 0.05
    return module, params | {"router": {"kernel": router}}, x, real


@pytest.mark.parametrize(
    "routing",
    [
        Routing(4, 1, balance=0.5, z=0.25),
        Routing(6, 3, capacity=0.5),
        Routing(4, 2, capacity=0.9, normalise=False),
        Routing(3, 3, normalise=False),
    ],
)
def test_token_by_token(routing: Routing) -> None:
    """Outputs, both losses, loads and drops; padding is neither routed nor counted."""
    module, params, x, real = made(routing)

    @jax.jit
    def both(params: Any) -> Any:
        trained = module.apply_and_collect(params, x, real, mutable=(ROUTER,))
        return *trained, module.apply(params, x, real)

    found, collected, plain = both(params)
    expected, numbers = by_hand(x, params, routing, real, True)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert (numbers["dropped"].sum() > 0) == (routing.capacity is not None)
    for name, value in numbers.items():
        np.testing.assert_allclose(collected[ROUTER][name], value, rtol=1e-5, err_msg=name)
    np.testing.assert_allclose(plain, by_hand(x, params, routing, real, False)[0], atol=1e-5)


@golden("torch", "transformers")
def balance_by_transformers(kernel: Any, x: Any, real: Any) -> Any:
    import torch
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

    kernel = torch.tensor(kernel, requires_grad=True)
    logits = torch.tensor(x) @ kernel
    loss = load_balancing_loss_func((logits,), 4, 2, torch.tensor(real))
    loss.backward()
    return loss.item(), kernel.grad


def test_balance_as_in_transformers() -> None:
    """One row and one layer: the same number; and its gradient."""
    routing = Routing(4, 2, balance=1.0, z=0.0)
    module, params, x, real = made(routing)

    def penalty(kernel: Any) -> jax.Array:
        p = params | {"router": {"kernel": kernel}}
        _, found = module.apply_and_collect(p, x[1:2], real[1:2], mutable=(ROUTER,))
        return found[ROUTER]["penalty"][0]

    ours, grad = jax.jit(jax.value_and_grad(penalty))(params["router"]["kernel"])
    kernel = np.asarray(params["router"]["kernel"])
    loss, wanted = balance_by_transformers(kernel, x[1], real[1:2].astype(np.int64))
    assert ours == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(grad, wanted, atol=1e-6)


def test_gradients_by_differences() -> None:
    """Of every parameter and of the input, beside small steps of the loop in float64."""
    routing = Routing(4, 2, capacity=0.75, balance=0.3, z=0.2)
    module, params, x, real = made(routing)
    above = np.random.default_rng(5).normal(size=x.shape)

    def ours(params: Any, x: Any) -> jax.Array:
        y, found = module.apply_and_collect(params, x, real, mutable=(ROUTER,))
        return (y * above).sum() + found[ROUTER]["penalty"].sum()

    def theirs(params: Any, x: Any) -> float:
        y, found = by_hand(x, params, routing, real, True)
        return float((y * above).sum() + found["penalty"].sum())

    of_params, of_x = jax.jit(jax.grad(ours, argnums=(0, 1)))(params, x)
    rng = np.random.default_rng(1)
    exact = jax.tree.map(lambda a: np.asarray(a, np.float64), params)
    for path, grad in nn.paths(of_params).items():
        step = rng.normal(size=grad.shape) * 1e-6
        moved = {
            p: leaf + step * (p == path) if p == path else leaf
            for p, leaf in nn.paths(exact).items()
        }
        back = {p: leaf - step if p == path else leaf for p, leaf in nn.paths(exact).items()}
        change = theirs(nn.from_paths(moved), x) - theirs(nn.from_paths(back), x)
        assert (grad * step).sum() * 2 == pytest.approx(change, rel=1e-3), path
    step = rng.normal(size=x.shape) * 1e-6
    change = theirs(exact, x + step) - theirs(exact, x - step)
    assert (of_x * step).sum() * 2 == pytest.approx(change, rel=1e-3)


def test_the_router_computes_in_float32() -> None:
    """Logits that differ by less than bfloat16 can tell still choose the larger one."""
    module = Experts(Routing(2, 1), HIDDEN)
    x = jnp.ones((1, 1, WIDTH), jnp.bfloat16)
    params = jax.jit(module.init)(jax.random.key(0), x)
    kernel = jnp.ones((WIDTH, 2)).at[0, 1].add(1e-4)
    params = params | {"router": {"kernel": kernel}}
    run = jax.jit(lambda p: module.apply_and_collect(p, x, mutable=(ROUTER,)))
    y, found = run(params)
    assert y.dtype == jnp.bfloat16
    assert found[ROUTER]["load"].tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 4, "top_k": 5}, "top_k must be from 1 to the 4 experts, got 5"),
        ({"top_k": 0}, "top_k must be from 1 to the 8 experts, got 0"),
        ({"count": 0}, "count must be ≥ 1, got 0"),
        ({"capacity": 0}, "capacity must be > 0, got 0; null drops no token"),
        ({"capacity": float("nan")}, "capacity must be > 0, got nan"),
        ({"z": -1}, "balance and z must be ≥ 0, got 0.01 and -1"),
    ],
)
def test_settings_that_cannot_be(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Routing(**settings)


def test_rows_are_needed() -> None:
    with pytest.raises(ValueError, match=r"x must be \[batch, length, embed\], got \(4, 8\)"):
        Experts(Routing(), 8).init(jax.random.key(0), jnp.ones((4, 8)))


def test_operations_do_not_grow_with_the_experts() -> None:
    """Blocks that are not full add a quarter at most; the summary has the active parameters."""
    x = jax.ShapeDtypeStruct((4, 512, 16), jnp.float32)
    products = 3 * 2 * 4 * 512 * 2 * 16 * HIDDEN
    for count in (4, 16):
        module = Experts(Routing(count, 2), HIDDEN)
        params = jax.eval_shape(module.init, jax.random.key(0), x)
        found = nn.flops(module.apply, params, x)
        assert not found.unknown
        router = 2 * 4 * 512 * 16 * count
        assert products < found.total - router <= 1.25 * products, count
