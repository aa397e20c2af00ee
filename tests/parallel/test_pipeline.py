"""The circular pipeline over stages (DEEPSPEED-9, ACCELERATE-4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn.layers.repeat import Repeat
from barrow.nn.scope import Scope
from barrow.parallel import ZERO, constrainer, make_mesh
from barrow.parallel.pipeline import Schedule, schedule_of

# Stages, micro-batches, rounds; the layers of each group.
SCHEDULES = [(2, 2, 1, 2), (4, 8, 1, 1), (2, 4, 3, 1), (4, 4, 2, 1)]


def on_mesh(stages: int, **settings: Any) -> Any:
    mesh = make_mesh(data=1, stage=stages, devices=jax.devices()[:stages])
    return constrainer(ZERO[0].activations, mesh, **settings)


@pytest.mark.parametrize(("stages", "num", "rounds", "layers"), SCHEDULES)
def test_bubble_of_the_compiled_loop_is_that_of_the_formula(
    stages: int, num: int, rounds: int, layers: int
) -> None:
    """An entry of a row counts the layers done: work is that of the layers that are next."""
    found: list[bool] = []
    per = layers

    def group(layers: jax.Array, x: jax.Array, shared: Any, number: jax.Array) -> Any:
        del number
        is_next = (x[0, 0] == layers[0]) & (shared[0] >= 0).all()
        jax.debug.callback(lambda one: found.append(bool(one)), is_next)
        # 1,009 is prime, and all numbers are exact: the order of the layers matters.
        done = x[:, :1] + per
        x = jnp.concatenate([done, (x[:, 1:] * 3 + layers[0] + shared[0]) % 1009], axis=1)
        return x, layers[:, None] * 100 + x[None, :, 1]

    staged = on_mesh(stages, micro_batches=num, rounds=rounds)
    total = stages * rounds * layers
    rows = 3 * num
    x = jnp.concatenate([jnp.zeros((rows, 1)), jnp.arange(rows * 4.0).reshape(rows, 4)], axis=1)
    own = jnp.arange(rows * 1.0)[:, None]

    @jax.jit
    def run(x: jax.Array, own: jax.Array) -> Any:
        return staged.staged(group, jnp.arange(float(total)), x, (own,))

    after, outs = jax.device_get(run(x, own))
    wanted, outs_wanted = np.asarray(x), []
    for first in range(0, total, layers):
        more = (wanted[:, 1:] * 3 + first + np.asarray(own)) % 1009
        wanted = np.concatenate([wanted[:, :1] + layers, more], axis=1)
        outs_wanted += [one * 100 + wanted[:, 1] for one in range(first, first + layers)]
    np.testing.assert_array_equal(after, wanted)
    np.testing.assert_array_equal(outs, outs_wanted)
    jax.effects_barrier()
    text = run.lower(x, own).compile().as_text()
    assert "collective-permute" in text
    loops = re.findall(r'known_trip_count[^0-9]*"(\d+)"', text)
    schedule = Schedule(stages, num, rounds)
    assert loops == [str(schedule.iterations)]
    assert len(found) == schedule.iterations * stages
    assert sum(found) == rounds * num * stages
    bubble = (stages - 1) / (rounds * num + stages - 1)
    assert 1 - sum(found) / len(found) == pytest.approx(bubble) == pytest.approx(schedule.bubble)


@dataclass(frozen=True)
class Noisy(nn.Module):
    """Adds random numbers, scaled by a parameter."""

    def forward(self, scope: Scope, x: jax.Array, each: Any, seen: Any) -> tuple[jax.Array, None]:
        del each
        scale = scope.param("scale", (), nn.initialisers.normal(1.0), ())
        key = scope.key("dropout")
        assert key is not None or scope.trace.is_describing
        noise = 0.0 if key is None else jax.random.normal(key, x.shape)
        return x + scale * noise * seen, None


@dataclass(frozen=True)
class Net(nn.Module):
    unroll: bool = False

    def forward(self, scope: Scope, x: jax.Array, seen: jax.Array) -> jax.Array:
        return Repeat(Noisy(), 4, unroll=self.unroll)(scope / "layers", x, None, seen)[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("stages", "rounds", "unroll"), [(4, 1, False), (2, 2, True)])
def test_a_micro_batch_is_a_batch_with_its_own_key(stages: int, rounds: int, unroll: bool) -> None:
    net, num = Net(unroll=unroll), 4
    x = jnp.arange(8 * 3.0).reshape(8, 3)
    seen = jnp.arange(8.0)[:, None]
    params, key = net.init(jax.random.key(0), x, seen), jax.random.key(1)
    staged = on_mesh(stages, micro_batches=num, rounds=rounds)

    def run(params: Any) -> jax.Array:
        return net.apply(params, x, seen, keys={"dropout": key}, constrain=staged)  # type: ignore[no-any-return]

    found = np.asarray(jax.jit(run)(params))

    @jax.jit
    def plain(x: jax.Array, seen: jax.Array, key: jax.Array) -> Any:
        return Net().apply(params, x, seen, keys={"dropout": key})

    for m in range(num):
        wanted = plain(x[m::num], seen[m::num], jax.random.fold_in(key, m))
        np.testing.assert_allclose(found[m::num], wanted, rtol=1e-6)


def test_the_number_of_micro_batches() -> None:
    assert schedule_of(16, 4, parts=2) == Schedule(4, 8)
    assert schedule_of(8, 4, parts=2) == Schedule(4, 4)
    assert schedule_of(24, 2, parts=2, micro_batches=3, rounds=5) == Schedule(2, 3, 5)
    assert str(Schedule(4, 8)) == "pipeline: 4 stages, 8 micro-batches, bubble 27%"
    assert str(Schedule(2, 2, 3)) == "pipeline: 2 stages, 2 micro-batches, 3 rounds, bubble 14%"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (12, 4, 2, None),
            r"12 rows .* 4 micro-batches .* 2 devices: .* be 6; or .* multiple of 8",
        ),
        ((4, 4, 2, None), "4 rows cannot be divided .*: pass a multiple of 8 rows"),
        ((16, 4, 2, 3), "micro_batches may be 4, 8; or pass a multiple of 6 rows"),
        ((16, 4, 1, 2), "a pipeline of 4 stages needs as many micro-batches or more, got 2"),
    ],
)
def test_rows_that_cannot_be_divided(arguments: Any, words: str) -> None:
    rows, stages, parts, num = arguments
    with pytest.raises(ValueError, match=words):
        schedule_of(rows, stages, parts=parts, micro_batches=num)


def test_rounds() -> None:
    with pytest.raises(ValueError, match="rounds must be ≥ 1, got 0"):
        Schedule(2, 2, 0)


@dataclass(frozen=True)
class Counting(nn.Module):
    """Writes one number for all rows."""

    def forward(self, scope: Scope, x: jax.Array, each: Any) -> tuple[jax.Array, None]:
        del each
        scope.write("count", "seen", x.sum())
        return x + scope.param("scale", (), nn.initialisers.zeros, ()), None


def test_what_layers_write_has_rows() -> None:
    net = Repeat(Counting(), 2)
    x = jnp.ones((8, 3))
    params = net.init(jax.random.key(0), x)
    with pytest.raises(ValueError, match=r"rows of the batch first, got the shape \(\); use"):
        net.apply_and_collect(params, x, mutable=("count",), constrain=on_mesh(2))


def test_gradients_of_rounds_keep_no_copies_of_the_layers() -> None:
    """A loop would keep the layers of a round for each of its iterations."""
    staged, schedule = on_mesh(2, micro_batches=4, rounds=2), Schedule(2, 4, 2)
    layers = jax.random.normal(jax.random.key(0), (8, 48, 48)) / 7
    x = jax.random.normal(jax.random.key(1), (8, 48))

    def through(layers: jax.Array, x: jax.Array) -> Any:
        return jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, layers)

    def total(layers: jax.Array, x: jax.Array) -> jax.Array:
        group = lambda layers, x, shared, number: through(layers, x)  # noqa: E731
        return (staged.staged(group, layers, x, ())[0] ** 2).sum()  # type: ignore[no-any-return]

    found = jax.jit(jax.grad(total, (0, 1))).lower(layers, x).compile()
    wanted = jax.grad(lambda *args: (through(*args)[0] ** 2).sum(), (0, 1))(layers, x)
    for ours, theirs in zip(found(layers, x), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())
    shapes = re.findall(rf"f32\[({schedule.iterations},[\d,]+)\]", found.as_text())
    assert shapes
    assert not [shape for shape in shapes if shape.endswith("48,48")]
