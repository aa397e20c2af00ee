"""Runs on chats and pairs: they learn, resume exactly, and open everywhere (DEEPSPEED-6)."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.align.data_files import chats, pairs, write

from barrow.align.finish import write_adapter, write_model
from barrow.align.lora import Lora
from barrow.align.model import Aligned
from barrow.align.runs import (
    AlignSettings,
    align_run,
    preference_settings,
    reward_settings,
    sft_settings,
)
from barrow.checkpoint.params import load_params
from barrow.cli.main import run as command
from barrow.errors import NotFound, WeightsError
from barrow.models.decoder.model import Decoder
from barrow.models.open_model import open_model
from barrow.nn.tree import paths
from barrow.train import fit
from barrow.train.run import CheckpointSettings
from barrow.train.trackers import read_log


def small(settings: AlignSettings, **more: Any) -> AlignSettings:
    """Few steps with a high rate."""
    from barrow.align.runs import _optimizer

    data = replace(settings.data, length=64, batch=8)
    return replace(settings, data=data, steps=4, optimizer=_optimizer(5e-3), log_every=1, **more)


def losses(folder: Path) -> list[float]:
    return [line["loss"] for line in read_log(folder / "log.jsonl")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("data")
    return {
        "chats": write(folder / "chats.jsonl", chats(24)),
        "pairs": write(folder / "pairs.jsonl", pairs(24)),
    }


@pytest.fixture(scope="module")
def adapted(
    files: dict[str, str], chat_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run of SFT with adapters."""
    out = tmp_path_factory.mktemp("runs") / "lora"
    settings = small(sft_settings(files["chats"]), lora=Lora(4, 8.0, ("layers/attention/*",)))
    state = fit(align_run(settings, str(chat_model)), out)
    trained = jax.tree.leaves(state.params)
    moments = [x for x in jax.tree.leaves(state.optimizer) if x.ndim]
    # Only adapters have optimizer state: two moments each.
    assert sum(x.size for x in moments) == 2 * sum(x.size for x in trained)
    assert sum(x.size for x in trained) < 0.4 * sum(
        x.size for x in jax.tree.leaves(state.collections)
    )
    return out


def test_sft_learns_and_resumes_exactly(
    files: dict[str, str], chat_model: Path, tmp_path: Path
) -> None:
    settings = small(sft_settings(files["chats"]), checkpoint=CheckpointSettings(every=2))
    run = align_run(settings, str(chat_model))
    fit(run, tmp_path / "whole")
    found = losses(tmp_path / "whole")
    assert found[-1] < found[0] - 0.3
    fit(replace(run, steps=4), tmp_path / "again")
    # As if it had been killed after two steps.
    shutil.rmtree(tmp_path / "again" / "checkpoints" / "step-000000004")
    fit(run, tmp_path / "again")
    assert losses(tmp_path / "again") == found
    one, other = (paths(load_params(tmp_path / name)) for name in ("whole", "again"))
    assert all(np.array_equal(one[path], other[path]) for path in one)


def test_adapters_are_pefts(adapted: Path, chat_model: Path, tmp_path: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    write_adapter(adapted, tmp_path / "adapter")
    base = AutoModelForCausalLM.from_pretrained(chat_model)
    ids = np.arange(20)[None] * 7 % 256
    with torch.no_grad():
        plain = base(torch.tensor(ids)).logits.numpy()
        peer = PeftModel.from_pretrained(base, tmp_path / "adapter")
        theirs = peer(torch.tensor(ids)).logits.numpy()
    for source in (adapted, tmp_path / "adapter"):
        loaded = open_model(source, dtype="float32")
        assert isinstance(loaded.model, Decoder)
        ours, _ = loaded.model.apply(loaded.params, ids)
        np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=0)
    assert np.abs(theirs - plain).max() > 1e-2


def test_pefts_adapters_are_read(chat_model: Path, tmp_path: Path) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(chat_model)
    torch.manual_seed(0)
    config = LoraConfig(
        r=3, lora_alpha=5, target_modules=["q_proj", "o_proj", "down_proj"], init_lora_weights=False
    )
    peer = get_peft_model(base, config).eval()
    peer.save_pretrained(tmp_path / "theirs")
    ids = np.arange(20)[None] * 5 % 256
    with torch.no_grad():
        theirs = peer(torch.tensor(ids)).logits.numpy()
    loaded = open_model(tmp_path / "theirs", dtype="float32", unstack=True)
    ours, _ = loaded.model.apply(loaded.params, ids)
    np.testing.assert_allclose(ours, theirs, atol=1e-4, rtol=0)
    file = tmp_path / "theirs" / "adapter_config.json"
    table = json.loads(file.read_text())
    file.write_text(json.dumps({**table, "use_dora": True}))
    with pytest.raises(WeightsError, match="use_dora=True, which is not supported; merge"):
        open_model(tmp_path / "theirs")
    file.write_text(json.dumps({**table, "base_model_name_or_path": "nowhere"}))
    with pytest.raises(NotFound, match="adapters of the model nowhere, which is not here"):
        open_model(tmp_path / "theirs")


def test_a_merged_model_has_its_template(adapted: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write_model(adapted, tmp_path / "merged")
    peer = AutoTokenizer.from_pretrained(tmp_path / "merged")
    text = peer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False)
    assert text == "<|begin|><|start|>user\nx<|end|>"
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    assert model.config.eos_token_id == 258


def test_adapters_are_served_as_they_are(adapted: Path, chat_model: Path) -> None:
    """The engine computes with the leaves of LoRA, without merging them."""
    from barrow.align.model import numbered
    from barrow.checkpoint.params import load_collections
    from barrow.nn.weights.low_rank import joined
    from barrow.serve.engine import Engine
    from barrow.serve.programs import EngineSettings
    from barrow.serve.requests import Request

    loaded = open_model(adapted, dtype="float32")
    base = numbered(load_collections(adapted))["base"]
    leaves = joined(base, load_params(adapted), 2.0)
    found = []
    for params in (loaded.params, leaves):
        settings = EngineSettings(2, (1,), max_tokens_in_flight=256, plain=True)
        engine = Engine(loaded.model, params, settings=settings)
        (answer,) = engine.run([Request(list(range(9)), 8)])
        found.append((answer.tokens, answer.logprobs))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


@pytest.mark.parametrize(
    "loss", ["kto", *(pytest.param(name, marks=pytest.mark.soak) for name in ("dpo", "ipo"))]
)
def test_preferences_are_learned(
    loss: Any, files: dict[str, str], chat_model: Path, tmp_path: Path
) -> None:
    settings = small(preference_settings(files["pairs"]))
    settings = replace(settings, objective=replace(settings.objective, loss=loss))
    fit(align_run(settings, str(chat_model)), tmp_path / "run")
    found = losses(tmp_path / "run")
    assert found[-1] < 0.9 * found[0]
    last = read_log(tmp_path / "run" / "log.jsonl")[-1]
    assert "distance" in last if loss == "kto" else last["accuracy"] == 1.0
    assert isinstance(open_model(tmp_path / "run").model, Decoder)


def test_a_reward_model_is_learned_and_opened(
    files: dict[str, str], chat_model: Path, tmp_path: Path
) -> None:
    settings = small(reward_settings(files["pairs"]), lora=Lora(2, 4.0))
    fit(align_run(settings, str(chat_model)), tmp_path / "run")
    found = read_log(tmp_path / "run" / "log.jsonl")
    assert found[-1]["loss"] < found[0]["loss"]
    loaded = open_model(tmp_path / "run")
    assert isinstance(loaded.model, Aligned)
    assert loaded.params["score"]["kernel"].shape == (16, 1)
    with pytest.raises(ValueError, match="is a Aligned, expected a Decoder"):
        align_run(settings, str(tmp_path / "run"))


@pytest.mark.usefixtures("one_device")
def test_on_the_command_line(
    files: dict[str, str], chat_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "sft")
    given = ["data.length=64", "data.batch=8", "steps=2", "lora.rank=2", "log_every=1"]
    words = ["align", "sft", str(chat_model), files["chats"], "--out", out, *given]
    assert command(words) == 0
    shown = capsys.readouterr()
    assert "24 records in" in shown.err
    assert f"barrow tokens lineage {out} --step 0" in shown.out
    assert command(["tokens", "lineage", out, "--step", "1"]) == 0
    assert "chats.jsonl, line" in capsys.readouterr().out
    # The same again: the run is over, and its settings are checked.
    assert command(words) == 0
    assert command([*words, "data.seed=3"]) == 1
    assert "data.seed: 0 → 3" in capsys.readouterr().err
    assert command(["align", "adapter", out, "--out", str(tmp_path / "peft")]) == 0
    assert (tmp_path / "peft" / "adapter_model.safetensors").is_file()
    assert command(["align", "merge", out, "--out", str(tmp_path / "merged")]) == 0
    assert (tmp_path / "merged" / "config.json").is_file()
    words = ["align", "dpo", out, files["pairs"], "--out", str(tmp_path / "dpo"), "loss=ipo"]
    assert command([*words, "data.length=64", "steps=1"]) == 0
    assert "accuracy:" in capsys.readouterr().out
    assert command(["align", "reward", out, files["pairs"], "--show"]) == 0
    assert "objective.centre" in capsys.readouterr().out


BAD = {
    "data.length=200": "has 128 positions: set data.length=127",
    'lora.targets=["layers/nothing/*"]': "no kernel matches 'layers/nothing/*'",
    "lora.rank=0": "lora.rank must be ≥ 1, got 0",
    "step.precision.name=fp16": "precision of alignment must be fp32 or bf16, got fp16",
    "loss=ppo": "expected one of ['dpo', 'ipo', 'kto'], got 'ppo'",
    "data.batch=0": "data.batch must be ≥ 1, got 0",
}


@pytest.mark.parametrize("change", BAD)
def test_bad_settings(
    change: str,
    files: dict[str, str],
    chat_model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["align", "dpo", str(chat_model), files["pairs"], "--out", str(tmp_path / "x")]
    given = [] if change.startswith("data.length") else ["data.length=64"]
    assert command([*words, *given, "steps=1", change]) == 1
    assert BAD[change] in capsys.readouterr().err
