"""The runtime around a script: states of several libraries, batches, seeds, checkpoints."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from flax.training.train_state import TrainState

import barrow
from barrow import train
from barrow.errors import CheckpointError, ConfigError
from barrow.parallel import watch
from barrow.runtime import runtime as module

RNG = np.random.default_rng(0)
X = RNG.normal(size=(43, 8)).astype(np.float32)
BATCH = {"x": X, "y": np.tanh(X @ RNG.normal(size=(8, 4))).astype(np.float32)}
RATE = optax.linear_schedule(1.0, 0.0, 4)  # another rate for each update


def squared(found: Any, batch: Any) -> Any:
    return jnp.mean(jnp.square(found - batch["y"]))


def expected(kernel: Any, bias: Any) -> list[float]:
    """Losses of three steps of gradient descent, by hand in float64."""
    kernel, bias, losses = np.float64(kernel), np.float64(bias), []
    for step in range(3):
        error = BATCH["x"].astype(np.float64) @ kernel + bias - BATCH["y"]
        losses.append(float((error**2).mean()))
        slope = 2 * error / error.size
        kernel = kernel - (1 - step / 4) * BATCH["x"].astype(np.float64).T @ slope
        bias = bias - (1 - step / 4) * slope.sum(0)
    return losses


def plain() -> Any:
    params = {"kernel": jnp.full((8, 4), 0.1), "bias": jnp.zeros(4)}
    tx = optax.sgd(RATE)

    def loss(params: Any, batch: Any) -> Any:
        return squared(batch["x"] @ params["kernel"] + params["bias"], batch)

    return loss, (params, tx.init(params)), tx, params["kernel"], params["bias"]


def linen() -> Any:
    model = nn.Dense(4)
    params = model.init(jax.random.key(0), BATCH["x"])["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(RATE))

    def loss(params: Any, batch: Any) -> Any:
        return squared(model.apply({"params": params}, batch["x"]), batch)

    return loss, state, None, params["kernel"], params["bias"]


def objects() -> Any:
    model = nnx.Linear(8, 4, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(RATE), wrt=nnx.Param)

    def loss(model: Any, batch: Any) -> Any:
        return squared(model(batch["x"]), batch)

    return loss, (model, optimizer), None, model.kernel[...], model.bias[...]


class Scaled(eqx.Module):
    """A module with a function and a number among its leaves."""

    linear: eqx.nn.Linear
    function: Any
    factor: float = 1.0

    def __call__(self, x: Any) -> Any:
        return self.function(self.linear(x) if self.factor == 1.0 else 0 * x)


def equinox() -> Any:
    model = Scaled(eqx.nn.Linear(8, 4, key=jax.random.key(0)), lambda x: x)
    tx = optax.sgd(RATE)

    def loss(model: Any, batch: Any) -> Any:
        return squared(jax.vmap(model)(batch["x"]), batch)

    state = model, tx.init(eqx.filter(model, eqx.is_array))
    return loss, state, tx, model.linear.weight.T, model.linear.bias


@pytest.mark.parametrize("kind", [plain, linen, objects, equinox])
def test_steps_of_states_of_four_libraries(kind: Any, tmp_path: Path) -> None:
    """ACCELERATE-1. The rate changes once for each update, with micro-batches too."""
    rt = barrow.Runtime(accumulate=2, plan={"data": 2, "fsdp": 4})
    loss, state, optimizer, kernel, bias = kind()
    losses = expected(kernel, bias)
    state, loader = rt.prepare(state, [BATCH] * 3)
    found, norms = [], []
    for step, batch in enumerate(loader):
        if step == 2:
            rt.save(tmp_path / "saved", state)
        state, metrics = rt.step(loss, state, batch, optimizer=optimizer)
        found.append(float(metrics["loss"]))
        norms.append(float(metrics["grad_norm"]))
    assert found == pytest.approx(losses, rel=1e-5)
    assert norms[0] > norms[2] > 0

    _, other, *_ = kind()
    again = barrow.Runtime()
    restored = again.load(tmp_path / "saved", again.prepare(other))
    _, metrics = again.step(loss, restored, BATCH, optimizer=optimizer)
    assert float(metrics["loss"]) == pytest.approx(losses[2], rel=1e-5)


def test_the_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    rt = barrow.Runtime()
    rt.save(tmp_path / "a", {"w": np.ones(3), "old": np.ones(2)})
    with pytest.raises(CheckpointError, match="does not match the model") as error:
        rt.load(tmp_path / "a", {"w": np.ones(4), "new": np.ones(2)})
    assert all(word in str(error.value) for word in ("missing", "new", "unexpected", "old", "w: "))


def test_metrics_over_1003_samples_count_1003() -> None:
    """ACCELERATE-14."""
    rt = barrow.Runtime()
    data = np.arange(1003)
    _, loader = rt.prepare({}, [data[i : i + 128] for i in range(0, 1003, 128)])
    assert len(loader) == 8
    for _ in range(2):
        found = np.concatenate([rt.gather_for_metrics(2 * rows) for rows in loader])
        np.testing.assert_array_equal(found, 2 * data)


def test_loaders_of_pytorch_and_rows_that_are_divided() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(20, 1), torch.arange(20))
    rt = barrow.Runtime()
    _, loader = rt.prepare({}, torch.utils.data.DataLoader(data, batch_size=16))
    (x, y), (last, _) = loader
    assert x.addressable_shards[1].data.tolist() == [[2.0], [3.0]]
    assert y.addressable_shards[7].data.tolist() == [14, 15]
    assert last.is_fully_replicated
    assert last.tolist() == [[16.0], [17.0], [18.0], [19.0]]
    _, stream = rt.prepare({}, iter([{"text": ["a", "b"], "x": np.ones(8)}]))
    assert next(iter(stream))["text"] == ["a", "b"]


def test_one_seed_for_all_libraries_shared_or_by_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """ACCELERATE-5."""

    def drawn(key: Any) -> list[float]:
        others = [random.random(), float(np.random.rand()), float(torch.rand(()))]
        return [float(jax.random.uniform(key)), *others]

    rt = barrow.Runtime(seed=7)
    first = drawn(jax.random.key(7))
    assert drawn(rt.seed(7)) == first
    assert not set(drawn(rt.seed(8))) & set(first)
    monkeypatch.setattr(rt, "world", SimpleNamespace(process=1))
    assert drawn(rt.seed(7)) == first
    second = drawn(rt.seed(7, per_process=True))
    monkeypatch.setattr(rt, "world", SimpleNamespace(process=2))
    assert not set(drawn(rt.seed(7, per_process=True))) & {*first, *second}


def hardware(memory: int) -> Any:
    return lambda: SimpleNamespace(memory=memory)


def test_a_large_state_is_divided_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"w": np.ones((64, 8), np.float32)}
    assert barrow.Runtime().prepare(state)["w"].is_fully_replicated
    rt = barrow.Runtime()
    monkeypatch.setattr(module, "here", hardware(4096))
    assert rt.prepare(state)["w"].addressable_shards[0].data.shape == (8, 8)
    assert (rt.mesh.shape["fsdp"], rt.zero) == (8, 3)


def test_with_a_loss_the_state_is_divided_as_far_as_it_must_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parameters and moments are 3 × 2048 bytes, gradients and their transpose 2048 each."""
    params = {"w": np.ones((64, 8), np.float32)}
    moments = optax.adam(0.1).init(params)
    batches = [np.ones((16, 64), np.float32)] * 3

    def loss(params: Any, x: Any) -> Any:
        return jnp.mean(jnp.square(x @ params["w"]))

    for memory, zero in ((10_400, 0), (7000, 1), (5300, 2), (3200, 3)):
        monkeypatch.setattr(module, "here", hardware(memory))
        rt = barrow.Runtime()
        placed, _, loader = rt.prepare(params, moments, iter(batches), loss=loss)
        assert rt.zero == zero, memory
        assert placed["w"].is_fully_replicated == (zero == 0)
        assert len(list(loader)) == 3  # the first batch was read, and is there
    monkeypatch.setattr(module, "here", hardware(900))
    with pytest.raises(ConfigError, match=r"no plan fits: .* over 8 devices .*larger accumulate"):
        barrow.Runtime().prepare(params, moments, batches, loss=loss)
    barrow.Runtime(plan={"data": 8}).prepare(params, moments, batches, loss=loss)  # as told
    _, objective, state = train_state()
    monkeypatch.setattr(module, "here", hardware(64))
    with pytest.raises(ConfigError, match="no plan fits"):
        barrow.Runtime().prepare(state, [jax.tree.map(lambda x: x[:32], BATCH)], loss=objective)


@pytest.mark.parametrize("kind", ["tree", "objects"])
def test_fp16_skips_updates_that_overflow(kind: str, tmp_path: Path) -> None:
    """ACCELERATE-9. The gradient is 8: float16 holds it times 4096, not times 8192 or more."""
    batch = np.full((16, 4), 8.0, np.float32)
    rate = optax.linear_schedule(0.5, 0.0, 4)  # advances with the updates that are made
    loss: Any
    if kind == "tree":
        optimizer: Any = optax.sgd(rate)
        params = {"w": jnp.ones(4)}
        state: Any = params, optimizer.init(params)
        loss = lambda params, x: jnp.mean(x @ params["w"])  # noqa: E731
    else:
        model, optimizer = nnx.Linear(4, 1, use_bias=False, rngs=nnx.Rngs(0)), None
        model.kernel[...] = jnp.ones((4, 1))
        state = model, nnx.Optimizer(model, optax.sgd(rate), wrt=nnx.Param)
        loss = lambda model, x: jnp.mean(model(x))  # noqa: E731
    rt = barrow.Runtime(precision="fp16", accumulate=2)
    state = rt.prepare(state)
    seen = []
    for _ in range(6):
        state, metrics = rt.step(loss, state, batch, optimizer=optimizer)
        seen.append((bool(metrics["skipped"]), float(metrics["loss_scale"])))
    assert seen == [(True, 65536 / 2**n) for n in range(4)] + [(False, 4096.0)] * 2
    first = state[0]["w"] if kind == "tree" else state[0].kernel[...].reshape(-1)
    np.testing.assert_allclose(first, np.full(4, 1 - 8 * (0.5 + 0.375)))

    rt.save(tmp_path / "saved", state)
    again = barrow.Runtime(precision="fp16", accumulate=2)
    state = again.load(tmp_path / "saved", again.prepare(state))
    _, metrics = again.step(loss, state, batch, optimizer=optimizer)
    assert (bool(metrics["skipped"]), float(metrics["loss_scale"])) == (False, 4096.0)


def train_state(**settings: Any) -> Any:
    """Of barrow.train: an optimizer, an objective, and a state."""

    def init(key: Any) -> Any:
        layer = barrow.nn.Tree({"kernel": jax.random.normal(key, (8, 4)) / 3})
        return barrow.nn.Tree({"layers": layer})

    def loss(params: Any, collections: Any, batch: Any, key: Any) -> train.Loss:
        found = barrow.nn.dot(batch["x"], params["layers"]["kernel"])
        errors = jnp.square(found - batch["y"]).mean(-1)
        seen = train.Mean(jnp.abs(found).sum(), jnp.float32(found.size))
        return train.Loss(errors.sum(), jnp.float32(len(errors)), {"size": seen}, collections)

    optimizer = train.AdamW(train.Constant(peak=0.1)).make(10)
    state = train.init_state(init, optimizer, train.StepSettings(**settings), jax.random.key(0))
    return optimizer, train.Objective(loss), state


def test_a_state_of_barrow_train() -> None:
    """On eight devices as on one, with an objective or a plain loss; fp16 and fp8 too."""
    batch = jax.tree.map(lambda x: x[:32], BATCH)
    optimizer, objective, state = train_state()
    step = train.make_step(objective, optimizer, train.StepSettings(clip=None, accumulate=2))
    expected = []
    for _ in range(2):
        state, found = step(state, batch)
        expected.append([found.loss.value, found.grad_norm, found.metrics["size"].value])

    def mean(params: Any, batch: Any) -> Any:
        found = batch["x"] @ params["layers"]["kernel"]
        return squared(found, batch), {"size": jnp.abs(found).mean()}

    for loss, has_aux in ((objective, False), (mean, True)):
        rt = barrow.Runtime(plan={"data": 2, "fsdp": 4}, accumulate=2)
        mine, loader = rt.prepare(train_state()[2], [batch] * 2)
        assert mine.optimizer[0].mu["layers"]["kernel"].addressable_shards[0].data.shape == (2, 4)
        seen = []
        for rows in loader:
            mine, found = rt.step(loss, mine, rows, optimizer=optimizer, has_aux=has_aux)
            seen.append([found["loss"], found["grad_norm"], found["size"]])
        np.testing.assert_allclose(seen, expected, rtol=1e-5)
    for name in ("fp16", "fp8"):
        rt = barrow.Runtime(precision=name)
        mine, found = rt.step(objective, rt.prepare(train_state()[2]), batch, optimizer=optimizer)
        assert ("loss_scale" in found) == (name == "fp16")
        assert abs(found["loss"] / expected[0][0] - 1) == pytest.approx(0.01, abs=0.01)


def test_precisions_that_a_state_or_a_step_cannot_have() -> None:
    optimizer, objective, state = train_state()
    with pytest.raises(ConfigError, match="which rt.step does; in a step of your own use bf16"):
        barrow.Runtime(precision="fp16").value_and_grad(squared)
    rt = barrow.Runtime(precision="fp8")
    with pytest.raises(ConfigError, match="fp8 needs rt.step with a train.TrainState"):
        rt.value_and_grad(squared)
    plain = replace(state, params={"w": jnp.ones(3)})
    with pytest.raises(ConfigError, match="whose products go through nn.dot"):
        rt.step(objective, plain, BATCH, optimizer=optimizer)
    with pytest.raises(ConfigError, match="with averages needs train.make_step"):
        rt.step(objective, replace(state, ema=state.params), BATCH, optimizer=optimizer)
    with pytest.raises(ValueError, match="pass optimizer="):
        rt.step(objective, state, BATCH)


def test_only_the_first_process_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rt = barrow.Runtime()
    rt.print("first", 1, sep="-")
    monkeypatch.setattr(rt, "world", SimpleNamespace(process=1))
    rt.print("second")
    assert capsys.readouterr().out == "first-1\n"
    assert not rt.is_main


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"precision": "int8"}, "must be fp32, bf16, fp16 or fp8, got 'int8'"),
        ({"plan": "fast"}, "got 'fast'"),
        ({"plan": {"tensor": 2}}, "data, fsdp and zero, got {'tensor': 2}"),
        ({"plan": {"zero": 4}}, "zero must be 0, 1, 2 or 3, got 4"),
        ({"accumulate": 0}, "accumulate must be ≥ 1, got 0"),
        ({"rows": "all"}, "got 'all'"),
    ],
)
def test_settings_that_are_refused(settings: Any, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        barrow.Runtime(**settings)
    assert words in str(error.value)


def test_a_state_needs_its_optimizer() -> None:
    loss, state, *_ = plain()
    with pytest.raises(ValueError, match="pass optimizer="):
        barrow.Runtime().step(loss, state, BATCH)


def test_loading_may_take_long_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done with a batch is a call (`barrow.parallel.watch`), to make it is not."""
    here = watch._Watch(None, 0, 2, watch.Limits())
    seen: list[Any] = []

    def batches() -> Any:
        for _ in range(2):
            seen.append([name for _, name, *_ in here.stack])
            yield np.zeros((8, 2), np.float32)

    runtime = barrow.Runtime()
    _, loader = runtime.prepare({"w": np.zeros(2)}, batches())
    monkeypatch.setattr(watch, "_running", here)
    seen.extend([name for _, name, *_ in here.stack] for _ in loader)
    assert seen == [["loading"], ["loading", "batch 0"], ["loading"], ["loading", "batch 1"]]
    assert here.stack == []
