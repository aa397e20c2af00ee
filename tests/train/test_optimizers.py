"""Optimizers beside updates written by hand in float64, and beside PyTorch's AdamW."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.goldens import golden

from barrow import nn
from barrow.train import Adafactor, AdamW, Constant, Linear, Lion, Muon, Optimizer, decayed

RNG = np.random.default_rng(0)
SHAPES = {
    "embed/table": (6, 4),
    "layers/attention/out/kernel": (2, 2, 2, 4),
    "layers/mlp/up/bias": (2, 8),
    "layers/mlp/up/kernel": (2, 4, 8),
    "norm/scale": (4,),
}
PARAMS = nn.from_paths({p: jnp.asarray(RNG.normal(size=s), jnp.float32) for p, s in SHAPES.items()})
STEPS = 8
GRADS = [
    nn.from_paths({p: jnp.asarray(RNG.normal(size=s), jnp.float32) for p, s in SHAPES.items()})
    for _ in range(STEPS)
]
DECAYED = {"embed/table", "layers/attention/out/kernel", "layers/mlp/up/kernel"}
MATRICES = {"layers/attention/out/kernel": (4, 4), "layers/mlp/up/kernel": (4, 8)}
PEAK, DECAY = 0.02, 0.3
SCHEDULE = Linear(peak=PEAK, warmup=3, end=0.2)


def rate(step: int) -> float:
    """The line by hand: up over three steps, then down to a fifth over the other five."""
    return PEAK * min(1.0, (step + 1) / 3) * (1 - 0.8 * max(0.0, (step - 3) / 5))


def trained(optimizer: Optimizer) -> dict[str, Any]:
    made = optimizer.make(STEPS)
    params, state = PARAMS, made.init(PARAMS)
    update = jax.jit(made.update)
    for grads in GRADS:
        updates, state = update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return nn.paths(params)


def by_hand(rule: Callable[[str], Callable[..., Any]]) -> dict[str, Any]:
    """P ← p − rate · (update + decay · p); `rule(path)` gives the update of (t, gradient, p)."""
    found = {}
    for path, leaf in nn.paths(PARAMS).items():
        p, update = np.asarray(leaf, np.float64), rule(path)
        for step, grads in enumerate(GRADS):
            g = np.asarray(nn.paths(grads)[path], np.float64)
            lost = DECAY * p if path in DECAYED else 0.0
            p = p - rate(step) * (update(step + 1, g, p) + lost)
        found[path] = p
    return found


def adam(*, nesterov: bool) -> Callable[..., Any]:
    m, v = 0.0, 0.0

    def update(t: int, g: Any, p: Any) -> Any:
        nonlocal m, v
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
        first = m / (1 - 0.8**t)
        if nesterov:  # Dozat's: the momentum of the next step, in which this gradient counts again
            first = 0.8 * m / (1 - 0.8 ** (t + 1)) + 0.2 * g / (1 - 0.8**t)
        return first / (np.sqrt(v / (1 - 0.9**t)) + 1e-6)

    return update


def lion(path: str) -> Callable[..., Any]:
    m = np.zeros(SHAPES[path])

    def update(t: int, g: Any, p: Any) -> Any:
        nonlocal m
        step, m = np.sign(0.8 * m + 0.2 * g), 0.9 * m + 0.1 * g
        return step

    return update


def adafactor(path: str) -> Callable[..., Any]:
    """Shazeer and Stern's algorithms 4 and 5; the two largest dimensions are factored."""
    *_, rows, columns = [0, 0, *np.argsort(SHAPES[path], kind="stable")]
    is_factored = sorted(SHAPES[path])[-2:][0] >= 4 and len(SHAPES[path]) > 1
    row, column, v = 0.0, 0.0, 0.0

    def update(t: int, g: Any, p: Any) -> Any:
        nonlocal row, column, v
        kept, square = 1 - t**-0.7, g * g + 1e-20
        if is_factored:
            row = kept * row + (1 - kept) * square.mean(axis=columns, keepdims=True)
            column = kept * column + (1 - kept) * square.mean(axis=rows, keepdims=True)
            v = row * column / row.mean(axis=rows, keepdims=True)
        else:
            v = kept * v + (1 - kept) * square
        u = g / np.sqrt(v)
        u /= max(1.0, np.sqrt(np.mean(u * u)) / 0.9)
        return u * max(1e-3, np.sqrt(np.mean(p * p)))

    return update


def muon(path: str) -> Callable[..., Any]:
    if path not in MATRICES:
        return adam(nesterov=True)
    m, (rows, columns) = 0.0, MATRICES[path]

    def update(t: int, g: Any, p: Any) -> Any:
        nonlocal m
        m = 0.7 * m + 0.3 * g
        ahead = 0.7 * m / (1 - 0.7 ** (t + 1)) + 0.3 * g / (1 - 0.7**t)
        found = []
        for x in ahead.reshape(2, rows, columns):  # each layer by itself
            x = x / (np.linalg.norm(x) + 1e-6)
            for _ in range(5):  # Newton–Schulz, Jordan's coefficients
                y = x @ x.T
                x = 3.4445 * x + (-4.7750 * y + 2.0315 * y @ y) @ x
            found.append(x * math.sqrt(max(1.0, columns / rows)))
        return np.reshape(found, SHAPES[path])

    return update


@pytest.mark.parametrize(
    ("optimizer", "rule"),
    [
        (
            AdamW(SCHEDULE, beta1=0.8, beta2=0.9, eps=1e-6, weight_decay=DECAY),
            lambda _: adam(nesterov=False),
        ),
        (Lion(SCHEDULE, beta1=0.8, beta2=0.9, weight_decay=DECAY), lion),
        (
            Adafactor(
                SCHEDULE, decay_rate=0.7, clip=0.9, eps=1e-20, min_factored=4, weight_decay=DECAY
            ),
            adafactor,
        ),
        (
            Muon(SCHEDULE, momentum=0.7, beta1=0.8, beta2=0.9, eps=1e-6, weight_decay=DECAY),
            muon,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_as_written_by_hand(optimizer: Optimizer, rule: Callable[[str], Any]) -> None:
    """Decay and schedule included; float32 against float64, over several steps."""
    wanted = by_hand(rule)
    for path, ours in trained(optimizer).items():
        np.testing.assert_allclose(ours, wanted[path], atol=3e-6, err_msg=path)


@pytest.mark.parametrize("kind", [AdamW, Lion, Adafactor, Muon])
def test_without_gradients_weights_decay_by_rate_times_decay(kind: Any) -> None:
    made = kind(Constant(peak=0.01), weight_decay=0.1).make(10)
    params = nn.from_paths({"a/kernel": jnp.ones((2, 2)), "a/bias": jnp.ones(2)})
    state = made.init(params)
    for _ in range(10):
        updates, state = made.update(jax.tree.map(jnp.zeros_like, params), state, params)
        params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(params["a"]["kernel"], 0.999**10, rtol=1e-6)
    np.testing.assert_array_equal(params["a"]["bias"], 1)


def test_kernels_and_tables_decay_and_nothing_else() -> None:
    assert {path for path, yes in nn.paths(decayed(PARAMS)).items() if yes} == DECAYED


@golden("torch")
def adamw_by_torch(params: Any, every_grads: Any) -> Any:
    """Parameters after a step for each of the gradients."""
    import torch

    held = {p: torch.tensor(np.asarray(x), requires_grad=True) for p, x in params.items()}
    groups = [
        {"params": [held[p] for p in held if p in DECAYED], "weight_decay": 0.1},
        {"params": [held[p] for p in held if p not in DECAYED], "weight_decay": 0.0},
    ]
    theirs = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.95), eps=1e-8)
    for grads in every_grads:
        for path, grad in grads.items():
            held[path].grad = torch.tensor(np.asarray(grad))
        theirs.step()
    return held


def test_adamw_as_torch() -> None:
    wanted = adamw_by_torch(nn.paths(PARAMS), [nn.paths(grads) for grads in GRADS])
    for path, ours in trained(AdamW(Constant(peak=0.01))).items():
        np.testing.assert_allclose(ours, wanted[path], rtol=1e-6, atol=1e-6, err_msg=path)


@pytest.mark.parametrize(
    ("kind", "wrong", "said"),
    [
        (AdamW, {"beta1": 1.0}, "beta1 must be ≥ 0 and below 1, got 1.0"),
        (Muon, {"momentum": -0.1}, "momentum must be ≥ 0 and below 1, got -0.1"),
        (AdamW, {"eps": 0.0}, "eps must be above 0, got 0.0"),
        (Adafactor, {"clip": 0.0}, "clip must be above 0, got 0.0"),
        (Lion, {"weight_decay": math.nan}, "weight_decay must be ≥ 0, got nan"),
    ],
)
def test_bad_settings(kind: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        kind(**wrong)


@pytest.mark.parametrize(
    ("kind", "unused"), [(Adafactor, "beta1"), (Lion, "eps"), (AdamW, "momentum")]
)
def test_settings_that_an_optimizer_does_not_use_are_refused(kind: Any, unused: str) -> None:
    with pytest.raises(TypeError, match=unused):
        kind(**{unused: 0.5})


def test_muon_steps_each_expert_as_a_matrix_of_its_own() -> None:
    """And routers by AdamW: what two experts get together is what each would get alone."""
    rng = np.random.default_rng(0)
    kernels, grads = (rng.normal(size=(1, 2, 4, 6)).astype(np.float32) for _ in range(2))
    router = rng.normal(size=(1, 4, 2)).astype(np.float32)

    def update(kernel: Any, grad: Any, name: str) -> Any:
        params = nn.from_paths({name: kernel, "layers/mlp/router/kernel": router})
        above = nn.from_paths({name: grad, "layers/mlp/router/kernel": np.sign(router)})
        optimizer = Muon(Constant(peak=0.1), weight_decay=0.0).make(10)
        step = jax.jit(lambda g, p: optimizer.update(g, optimizer.init(p), p)[0])
        updates = step(above, params)
        return nn.paths(updates)

    whole = update(kernels, grads, "layers/mlp/experts/up/kernel")
    for expert in range(2):
        alone = update(kernels[:, expert], grads[:, expert], "layers/mlp/up/kernel")
        found = whole["layers/mlp/experts/up/kernel"][:, expert]
        np.testing.assert_allclose(found, alone["layers/mlp/up/kernel"], atol=1e-6)
    # Adam's first step has the same size everywhere (Nesterov's more than the rate).
    steps = -whole["layers/mlp/router/kernel"] * np.sign(router)
    np.testing.assert_allclose(steps, np.full(router.shape, steps.max()), rtol=1e-5)
    assert steps.max() > 0.1
