"""The training step: precision, skips, averages, bad input (FLAX-3…6, ACCELERATE-9)."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from barrow import nn
from barrow.train import (
    Loss,
    Mean,
    Objective,
    Precision,
    ScaleSettings,
    StepSettings,
    bad_tensor_name,
    init_state,
    make_step,
)

KEY = jax.random.key(0)


def square(params, collections, batch, key) -> Loss:
    """Σ (w·x)² over rows; the weight is the number of rows."""
    y = batch["x"] @ params["w"]
    rows = jnp.float32(batch["x"].shape[0])
    return Loss(jnp.sum(y * y), rows, {"y": Mean(y.sum(), rows)}, collections)


def start(settings=StepSettings(clip=None), optimizer=None, init=None, loss=square):  # noqa: B008
    optimizer = optax.sgd(0.1) if optimizer is None else optimizer
    init = (lambda key: nn.Tree({"w": jnp.array([1.0, 2.0])})) if init is None else init
    state = init_state(init, optimizer, settings, KEY)
    return state, make_step(Objective(loss), optimizer, settings)


def test_one_step_by_hand() -> None:
    state, step = start()
    batch = {"x": np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)}
    state, metrics = step(state, batch)
    assert float(metrics.loss.value) == 2.5
    assert float(metrics.metrics["y"].value) == 1.5
    assert float(metrics.grad_norm) == pytest.approx(np.hypot(1, 2))
    np.testing.assert_allclose(state.params["w"], [1 - 0.1 * 1, 2 - 0.1 * 2])
    assert int(state.step) == 1
    assert int(metrics.bad_tensor) == -1
    assert bad_tensor_name(state.params, -1) is None
    assert metrics.scale is None


def test_a_step_compiled_ahead_is_used_and_gives_the_same() -> None:
    batch = {"x": np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)}
    state, step = start()
    wanted, _ = step(state, batch)
    state, step = start()
    step.prepare(jax.eval_shape(lambda: start()[0]), batch)
    got, _ = step(state, batch)
    np.testing.assert_array_equal(got.params["w"], wanted.params["w"])
    (used,) = step._jitted.values()
    assert used._program is not None
    # An array of another type is for the function itself.
    step(got, {"x": batch["x"].astype(np.float16)})
    assert used._program is None


def test_what_cannot_be_compiled_ahead_is_an_error_of_the_step() -> None:
    state, step = start()
    step.prepare(state, {"x": np.zeros((2, 3), np.float32)})
    with pytest.raises(TypeError, match="contracting"):
        step(state, {"x": np.zeros((2, 3), np.float32)})


def test_a_batch_in_which_nothing_counts() -> None:
    """ACCELERATE-9: nothing is divided by nothing; the step is one without a gradient."""

    def masked(params, collections, batch, key) -> Loss:
        y = batch["x"] @ params["w"] * batch["mask"]
        return Loss(jnp.sum(y * y), batch["mask"].sum(), {}, collections)

    state, step = start(loss=masked)
    state, metrics = step(state, {"x": np.eye(2, dtype=np.float32), "mask": np.zeros(2, "float32")})
    assert (float(metrics.loss.value), float(metrics.grad_norm)) == (0, 0)
    assert int(metrics.bad_tensor) == -1
    np.testing.assert_array_equal(state.params["w"], [1, 2])


def test_gradients_are_clipped_to_a_global_norm() -> None:
    state, step = start(StepSettings(clip=0.5))
    state, _ = step(state, {"x": np.eye(2, dtype=np.float32)})
    moved = (np.array([1.0, 2.0]) - state.params["w"]) / 0.1
    np.testing.assert_allclose(moved, 0.5 * np.array([1, 2]) / np.hypot(1, 2), rtol=1e-5)


def test_small_gradients_are_not_made_larger() -> None:
    state, step = start(StepSettings(clip=100.0))
    state, _ = step(state, {"x": np.eye(2, dtype=np.float32)})
    np.testing.assert_allclose(state.params["w"], [0.9, 1.8], rtol=1e-6)


def test_an_average_of_the_parameters_is_kept() -> None:
    state, step = start(StepSettings(clip=None, ema=0.9))
    np.testing.assert_array_equal(state.ema["w"], [1, 2])
    wanted = np.array([1.0, 2.0])
    for _ in range(3):
        state, _ = step(state, {"x": np.eye(2, dtype=np.float32)})
        wanted = 0.9 * wanted + 0.1 * np.asarray(state.params["w"])
        np.testing.assert_allclose(state.ema["w"], wanted, rtol=1e-6)


def test_each_step_has_a_key_of_its_own_and_the_run_decides_it() -> None:
    def noisy(params, collections, batch, key) -> Loss:
        drawn = jax.random.uniform(key)
        return Loss(jnp.sum(params["w"]) * 0, jnp.float32(1), {"drawn": Mean(drawn, 1.0)})

    seen = []
    for _ in range(2):
        state, step = start(loss=noisy)
        for _ in range(2):
            state, metrics = step(state, {"x": np.ones((1, 2), np.float32)})
            seen.append(float(metrics.metrics["drawn"].value))
    assert seen[:2] == seen[2:]
    assert seen[0] != seen[1]


def two(params, collections, batch, key) -> Loss:
    """Only `b` overflows, where x is large; its product must pass float16's largest number."""
    y = params["a"] * batch["x"].astype(params["a"].dtype)
    z = params["b"] * (batch["x"] * batch["large"]).astype(params["b"].dtype)
    return Loss((y.astype(jnp.float32) + z.astype(jnp.float32)).sum(), jnp.float32(y.size))


def rows(large: float) -> dict:
    return {"x": np.ones((4,), np.float32), "large": np.full((4,), large, np.float32)}


def test_an_overflow_skips_the_update_names_the_tensor_and_training_goes_on() -> None:
    """FLAX-4, DEEPSPEED-7."""
    settings = StepSettings(
        Precision("fp16", ScaleSettings(start=32768, growth_every=2)), clip=None, ema=0.5
    )
    state, step = start(
        settings,
        optax.adam(0.1),
        lambda key: nn.Tree({"a": jnp.ones(1), "b": jnp.ones(1)}),  # a lone number stays fp32
        two,
    )
    before = jax.device_get((state.params, state.optimizer, state.ema))
    state, metrics = step(state, rows(8.0))  # 8 · 32768 / 4 is past 65504
    assert bad_tensor_name(state.params, int(metrics.bad_tensor)) == "b"
    after = jax.device_get((state.params, state.optimizer, state.ema))
    jax.tree.map(np.testing.assert_array_equal, before, after)
    assert float(metrics.scale) == 32768
    assert float(state.scale.scale) == 16384
    assert int(state.step) == 1
    state, metrics = step(state, rows(1.0))
    assert int(metrics.bad_tensor) == -1
    assert state.params["b"].item() < 1
    assert float(metrics.grad_norm) == pytest.approx(np.hypot(1, 1), rel=1e-3)
    state, _ = step(state, rows(1.0))
    assert float(state.scale.scale) == 32768


def test_a_loss_that_alone_is_not_finite_is_said_so() -> None:
    def lost(params, collections, batch, key) -> Loss:
        return Loss(jnp.sum(params["w"]) + jax.lax.stop_gradient(jnp.inf), jnp.float32(1))

    state, step = start(loss=lost)
    state, metrics = step(state, {"x": np.ones((1, 2), np.float32)})
    assert bad_tensor_name(state.params, int(metrics.bad_tensor)) == "the loss itself"
    np.testing.assert_array_equal(state.params["w"], [1, 2])


def test_names_are_those_of_the_leaves_in_their_order() -> None:
    params = nn.from_paths({"b/x": jnp.ones(1), "a": jnp.ones(1), "b/c": jnp.ones(1)})
    bad = [bool(x) for x in jax.tree.leaves(jax.tree.map(lambda x: True, params))]
    found = [bad_tensor_name(params, k) for k in range(len(bad))]
    assert found == ["a", "b/c", "b/x"]


@pytest.fixture(scope="module")
def losses_of(configs, trial, batch_of):
    """Losses of fifty steps, on tokens that follow a rule, so that there is much to learn."""
    batches = []
    for seed in range(4):
        batch = batch_of(16, seed=seed)
        first = batch["tokens"][:, :1]
        ids = (first + 7 * np.arange(17)) % 96
        batches.append(batch | {"tokens": ids[:, :-1], "targets": ids[:, 1:]})

    @functools.cache
    def losses(precision):
        settings = StepSettings(Precision(precision))
        _, metrics = trial(configs["gpt2"], settings, rate=2e-3).run(*(batches * 13)[:50])
        assert metrics[-1].loss.total.dtype == np.float32
        return [float(m.loss.value) for m in metrics]

    return losses


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp8"])
def test_losses_after_fifty_steps_are_within_one_percent_of_float32(losses_of, name) -> None:
    """ACCELERATE-9."""
    exact, found = losses_of("fp32"), losses_of(name)
    assert exact[-1] < 0.8 * exact[0]
    assert np.mean(found[-4:]) == pytest.approx(np.mean(exact[-4:]), rel=0.01)
    assert found != exact


@pytest.mark.parametrize("value", ["total", "weight"])
def test_a_loss_that_is_not_one_number(value) -> None:
    def shaped(params, collections, batch, key) -> Loss:
        parts = {"total": jnp.sum(params["w"]), "weight": jnp.float32(1)}
        return Loss(**parts | {value: jnp.ones((2,)) * params["w"]})

    state, step = start(loss=shaped)
    with pytest.raises(ValueError, match=rf"the {value} of a loss must be a scalar, got shape \(2"):
        step(state, {"x": np.ones((1, 2), np.float32)})


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({"x": np.ones((4, 2)), "y": np.ones((3,))}, r"\['x'\] \(4, 2\), \['y'\] \(3,\)"),
        ({}, "got none at all"),
        ({"x": np.ones((0, 2))}, "a batch of 0 rows"),
        ({"x": np.float32(1)}, "a batch of 0 rows"),
        ({"x": np.ones((3, 2))}, "3 rows cannot be divided into 2 micro-batches.*multiple of 2"),
    ],
)
def test_wrong_shapes_in_a_batch(batch, said) -> None:
    state, step = start(StepSettings(accumulate=2))
    with pytest.raises(ValueError, match=said):
        step(state, batch)


def test_a_batch_that_does_not_divide_the_mesh(trial, batch_of) -> None:
    made = trial(mesh=(2, 4), settings=StepSettings(accumulate=2))
    with pytest.raises(ValueError, match="24 rows cannot .* over 8 devices: pass a multiple of 16"):
        made.step(made.state, batch_of(24))


def test_a_loss_that_is_no_sum_over_rows_is_not_split() -> None:
    with pytest.raises(ValueError, match="not a sum over rows, so its batch cannot be split"):
        make_step(
            Objective(square, is_sum_over_rows=False), optax.sgd(1), StepSettings(accumulate=2)
        )
    make_step(Objective(square, is_sum_over_rows=False), optax.sgd(1), StepSettings())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"accumulate": 0}, "accumulate must be ≥ 1, got 0"),
        ({"clip": 0.0}, "clip must be > 0, got 0.0"),
        ({"clip": float("nan")}, "clip must be > 0, got nan"),
        ({"ema": 1.0}, "ema must be between 0 and 1, got 1.0"),
    ],
)
def test_bad_settings(wrong, said) -> None:
    with pytest.raises(ValueError, match=said):
        StepSettings(**wrong)
