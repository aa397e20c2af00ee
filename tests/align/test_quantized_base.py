"""Adapters beside integers: the base of a run stays quantized (DEEPSPEED-4, DEEPSPEED-6)."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from tests.align.data_files import chats, pairs, write
from tests.align.test_rollouts import vowels

from barrow.align.card.card import make_card
from barrow.align.finish import write_adapter
from barrow.align.lora import Lora
from barrow.align.model import AlignedConfig
from barrow.align.rollouts.rewards import Weighed
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.runs import (
    AlignSettings,
    _optimizer,
    align_run,
    preference_settings,
    rollout_settings,
    sft_settings,
)
from barrow.checkpoint.params import load_params
from barrow.compress import Scheme, quantized
from barrow.compress.quantize import weights_of
from barrow.errors import ConfigError
from barrow.models.decoder.model import Decoder
from barrow.models.huggingface.adapters import Adapter, save_adapter
from barrow.models.open_model import open_model
from barrow.models.quantized import save_quantized
from barrow.nn.layers.repeat import take_apart
from barrow.nn.tree import Tree, from_paths, paths
from barrow.nn.weights.low_rank import joined, merged
from barrow.train import Run, fit
from barrow.train.gradients import take_gradient
from barrow.train.program import make_program
from barrow.train.run import CheckpointSettings
from barrow.train.trackers import read_log

IDS = np.arange(20)[None] * 7 % 256
ADAPTERS = Lora(4, 8.0, ("layers/attention/*", "layers/mlp/down/*"))
SCHEMES: dict[str, Any] = {
    "int4": Scheme("int4", "nearest", 8),
    # Activations become integers too, and the weights take part of their range.
    "dynamic": Scheme("int8", "nearest", dynamic=True, smooth=0.5),
    "mixed": None,
}


@pytest.fixture(scope="module")
def models(chat_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of quantized models; the layers of the mixed one differ."""
    loaded = open_model(chat_model, dtype="float32", unstack=True)
    whole: Any = loaded.model
    names = list(weights_of(loaded.params))
    mixed = {
        path: Scheme("int8" if "layers/0/" in path else "int4", "nearest", 8) for path in names
    }
    found = {}
    for name, scheme in SCHEMES.items():
        found[name] = tmp_path_factory.mktemp("quantized") / name
        params = quantized(whole, loaded.params, scheme or mixed, IDS)
        save_quantized(
            found[name], whole, params, scheme=name, tokenizer=chat_model, begin=256, stops=(258,)
        )
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("data")
    prompts = [{"prompt": f"number {n}"} for n in range(2)]
    return {
        "chats": write(folder / "chats.jsonl", chats(24)),
        "pairs": write(folder / "pairs.jsonl", pairs(8)),
        "prompts": write(folder / "prompts.jsonl", prompts),
    }


def sft(files: dict[str, str], init: Path, **more: Any) -> Run:
    settings = small(sft_settings(files["chats"]))
    return align_run(replace(settings, **{"lora": ADAPTERS, **more}), str(init))


def small(settings: AlignSettings) -> AlignSettings:
    data = replace(settings.data, length=64, batch=8)
    return replace(settings, data=data, steps=4, optimizer=_optimizer(5e-3), log_every=1)


def in_numpy(folder: Path) -> dict[str, Any]:
    """The arrays that a folder's integers stand for, by path."""
    with safe_open(folder / "model.safetensors", "np") as file:
        facts = json.loads(file.metadata()["leaves"])
        held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    found = {name: x for name, x in held.items() if name.rpartition(".")[0] not in facts}
    for path, fact in facts.items():
        values, scales = held[f"{path}.values"], held[f"{path}.scales"].astype(np.float32)
        if fact["type"] == "grouped":
            numbers = np.concatenate([values & 15, values >> 4], axis=1).astype(np.float32) - 8
            rows = (numbers * scales[:, None]).reshape(-1, values.shape[-1])
            shape = (*fact["inputs"], *fact["outputs"])
            found[path] = rows[: math.prod(fact["inputs"])].reshape(shape)
            continue
        found[path] = values * (scales[:, None] if fact["num_in"] is None else scales)
        if f"{path}.inputs" in held:
            factors = held[f"{path}.inputs"]
            found[path] /= factors.reshape(*factors.shape, *(1,) * (values.ndim - factors.ndim))
    return found


def nested(arrays: dict[str, Any]) -> Tree:
    """Parameters of a decoder of two layers, stacked."""
    outer = {path: x for path, x in arrays.items() if not path.startswith("layers/")}
    inner = {path: x for path, x in arrays.items() if path.startswith("layers/0/")}
    for path in inner:
        both = [arrays[path.replace("/0/", f"/{number}/")] for number in range(2)]
        outer[path.replace("/0/", "/")] = np.stack(both)
    return from_paths(outer)


def wavy(x: jax.Array) -> jax.Array:
    """Numbers that are the same for each layer, stacked or not."""
    rows, columns = np.indices(x.shape[-2:])
    return jnp.broadcast_to(0.1 * np.cos(3 * rows + columns), x.shape)


@pytest.mark.parametrize("name", SCHEMES)
def test_it_learns_as_beside_the_expanded_base(
    name: str, models: dict[str, Path], files: dict[str, str], tmp_path: Path
) -> None:
    run = sft(files, models[name])
    program = make_program(run, tmp_path)
    state = program.task.start(program)  # type: ignore[attr-defined]
    floats = nested(in_numpy(models[name]))
    # Layers that are quantized in different ways are a tuple.
    floats = take_apart(floats, "layers") if name == "mixed" else floats
    objective = run.objective(program.model, is_training=True, constrain=None)  # type: ignore[misc]
    batch = program.task.data().place(0, program.placement.rows())
    take = jax.jit(take_gradient(objective, run.step.precision, None, None))
    params, key = jax.tree.map(wavy, state.params), jax.random.key(0)
    grads, loss = take(params, state.collections, batch, key)
    others, expected = take(params, {"base": floats}, batch, key)
    np.testing.assert_allclose(loss.total, expected.total, rtol=1e-5)
    for one, other in zip(jax.tree.leaves(grads), jax.tree.leaves(others), strict=True):
        scale = np.abs(other).max()
        assert scale > 1e-2
        np.testing.assert_allclose(one / scale, other / scale, atol=1e-4)
    sizes = [sum(x.nbytes for x in jax.tree.leaves(t)) for t in (state.collections, floats)]
    # A scale of float32 for each 16 numbers of 8 bits is a quarter of them.
    assert sizes[0] <= (0.35 if name == "dynamic" else 0.3) * sizes[1]


@pytest.mark.usefixtures("one_device")
def test_it_resumes_and_opens(
    models: dict[str, Path], files: dict[str, str], chat_model: Path, tmp_path: Path
) -> None:
    """A step gives integers back, a killed run has the same bits, and opens as base + adapters."""
    run = sft(files, models["int4"], checkpoint=CheckpointSettings(every=2))
    state = fit(run, tmp_path / "whole")
    base = paths(state.collections["base"])
    for path in ("layers/attention/q/kernel", "layers/mlp/up/kernel", "head/kernel"):
        assert base[path].values.dtype == jnp.uint8
    assert base["embed/table"].values.dtype == jnp.int8
    seen = [line["loss"] for line in read_log(tmp_path / "whole" / "log.jsonl")]
    assert seen[-1] < seen[0] - 0.1
    # As if it had been killed after two steps.
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed" / "checkpoints" / "step-000000004")
    again = fit(run, tmp_path / "killed")
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(again), strict=True):
        assert (one == other).all()

    arrays = dict(paths(nested(in_numpy(models["int4"]))))
    adapters = paths(load_params(tmp_path / "whole"))
    for path in {path.rpartition("/")[0] for path in adapters}:
        pairs = zip(adapters[f"{path}/down"], adapters[f"{path}/up"], strict=True)
        low = np.stack([np.tensordot(down, up, 1) for down, up in pairs])
        arrays[path] = arrays[path] + 2.0 * low
    model: Any = open_model(chat_model, dtype="float32").model
    expected, _ = model.apply(from_paths(arrays), IDS)
    write_adapter(tmp_path / "whole", tmp_path / "peft")
    for source in (tmp_path / "whole", tmp_path / "peft"):
        loaded = open_model(source)
        assert isinstance(loaded.model, Decoder)
        logits, _ = loaded.model.apply(loaded.params, IDS)
        np.testing.assert_allclose(logits, expected, atol=1e-4)


@pytest.mark.usefixtures("one_device")
def test_preferences_refer_to_the_integers(
    models: dict[str, Path], files: dict[str, str], tmp_path: Path
) -> None:
    settings = replace(small(preference_settings(files["pairs"])), steps=2, lora=ADAPTERS)
    run = align_run(settings, str(models["dynamic"]))
    state = fit(run, tmp_path / "run")
    first, last = read_log(tmp_path / "run" / "log.jsonl")
    assert first["loss"] == pytest.approx(np.log(2), abs=1e-6)
    assert last["loss"] < first["loss"]
    assert state.collections["base"]["layers"]["attention"]["q"]["kernel"].values.dtype == jnp.int8
    card = make_card(run, tmp_path / "run", num=1, max_tokens=2)
    assert 0 < abs(card.divergence) < 1


@pytest.mark.usefixtures("one_device")
def test_rollouts_come_from_the_integers(
    models: dict[str, Path], files: dict[str, str], tmp_path: Path
) -> None:
    data = Prompts(files["prompts"], prompts=2, answers=4, max_tokens=4, slots=2)
    policy = Policy("grpo", (Weighed(vowels),))
    settings = replace(rollout_settings(data, policy, 2e-2), steps=1, lora=ADAPTERS)
    state = fit(align_run(settings, str(models["int4"])), tmp_path / "run")
    (line,) = read_log(tmp_path / "run" / "log.jsonl")
    assert line["gap"] < 1e-5
    assert line["grad_norm"] > 0
    kernel = state.collections["base"]["layers"][0]["attention"]["q"]["kernel"]
    assert kernel.values.dtype == jnp.uint8
    assert isinstance(open_model(tmp_path / "run").model, Decoder)


def test_adapters_of_layers_that_differ_open(models: dict[str, Path], tmp_path: Path) -> None:
    body: Any = open_model(models["mixed"]).family
    adapters = AlignedConfig(body, ADAPTERS).module().init(jax.random.key(0), *body.example)
    adapters = jax.tree.map(wavy, adapters)
    save_adapter(tmp_path, body, Adapter(4, 8.0, adapters, str(models["mixed"])))
    arrays = nested(in_numpy(models["mixed"]))
    expected, _ = body.module().apply(merged(joined(arrays, adapters, ADAPTERS.scale)), IDS)
    loaded: Any = open_model(tmp_path)
    logits, _ = loaded.model.apply(loaded.params, IDS)
    np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_integers_are_not_trained(models: dict[str, Path], files: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="is quantized, and integers are not trained: pass lora"):
        sft(files, models["int4"], lora=None)
