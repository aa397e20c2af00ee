"""Learning on two cores: a reward rises, a planted preference is learned (DEEPSPEED-6)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.align.conftest import make_model
from tests.align.data_files import write

import barrow.archive
from barrow.align.data.settings import Chats, Pairs
from barrow.align.lora import Lora
from barrow.align.objectives import Preference, Sft
from barrow.align.rollouts.rewards import Weighed
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.runs import AlignSettings, _optimizer, align_run, rollout_settings
from barrow.models.decoder.next_token_nats import next_token_nats
from barrow.models.open_model import open_model
from barrow.models.text import open_tokenizer, prompt_tokens
from barrow.train import fit
from barrow.train.trackers import read_log

pytestmark = pytest.mark.soak


def share_of_a(prompt: str, answer: str, record: Mapping[str, Any]) -> float:
    """How much of an answer is the letter a."""
    del prompt, record
    return answer.count("a") / max(1, len(answer))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that answers with eight letters, a and b at random."""
    folder = tmp_path_factory.mktemp("trained")
    rng = random.Random(0)
    rows = [
        {"prompt": f"{rng.randrange(100)}: ", "completion": "".join(rng.choices("ab", k=8))}
        for _ in range(512)
    ]
    data = Chats(write(folder / "letters.jsonl", rows), length=64, batch=16)
    settings = AlignSettings(data, Sft(), steps=150, optimizer=_optimizer(1e-2))
    fit(align_run(settings, str(make_model(folder))), folder / "sft")
    return folder / "sft"


def learned(trained: Path, out: Path, settings: AlignSettings) -> tuple[list[Any], float]:
    """The log, and the deviation of rewards of single answers in the first step."""
    fit(align_run(settings, str(trained)), out)
    first = barrow.archive.open(str(out / "rollouts" / "step-000000000.jsonl.zst"))
    return read_log(out / "log.jsonl"), float(np.std([one.meta["reward"] for one in first]))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_a_verifiable_reward_rises_by_a_deviation(
    algorithm: Any, seed: int, trained: Path, tmp_path: Path, record_property: Any
) -> None:
    file = write(tmp_path / "prompts.jsonl", [{"prompt": f"{n}: "} for n in range(100)])
    policy = Policy("grpo", (Weighed(share_of_a),), kl=0.1)
    if algorithm == "ppo":
        how: dict[str, Any] = {"kl": 0.05, "kl_in": "reward", "minibatches": 2, "epochs": 2}
        policy = replace(policy, algorithm="ppo", **how)
    data = Prompts(file, prompts=8, answers=8, max_tokens=12, slots=16, seed=seed)
    settings = replace(
        rollout_settings(data, policy, 3e-3), steps=40, lora=Lora(8, 16.0), seed=seed
    )
    log, deviation = learned(trained, tmp_path / "run", settings)
    # Of step 0, before any update: five steps later much is learned already.
    start, end = log[0]["reward"], np.mean([line["reward"] for line in log[-5:]])
    far = max(line["distance"] for line in log)
    record_property("reward", f"{start:.3f} → {end:.3f}, σ {deviation:.3f}, KL up to {far:.2f}")
    assert abs(start - 0.5) < 0.15
    assert end >= start + deviation
    # Always a is 8 ln 2 nats from a fair coin: what is further away has left it for nothing.
    assert far < 8 * np.log(2)
    assert max(line["gap"] for line in log) < 1e-4


def accuracy(model: Path, pairs: list[dict[str, str]]) -> float:
    """The share of pairs whose chosen answer is more likely, per token."""
    loaded = open_model(model, dtype="float32")
    words = open_tokenizer(loaded.tokenizer, settings=loaded.tokenizer_config)
    nats = jax.jit(lambda ids: next_token_nats(loaded.model, loaded.params, ids))  # type: ignore[arg-type]
    right = 0
    for pair in pairs:
        means = []
        for key in ("chosen", "rejected"):
            before = prompt_tokens(words, pair["prompt"])
            ids = prompt_tokens(words, pair["prompt"] + pair[key])
            row = np.zeros((1, 64), np.int32)
            row[0, : len(ids)] = ids
            found = np.asarray(nats(row))[0]
            means.append(found[len(before) - 1 : len(ids) - 1].mean())
        right += means[0] < means[1]
    return right / len(pairs)


def test_dpo_learns_a_planted_preference_that_sft_does_not(
    tmp_path: Path, record_property: Any
) -> None:
    rng = random.Random(1)

    def pair(number: int) -> dict[str, str]:
        words = rng.sample(["red", "blue", "green", "grey"], 2)
        return {
            "prompt": f"{number}? ",
            "chosen": f"{words[0]}, sir",
            "rejected": f"{words[1]}, man",
        }

    rows, held = [pair(n) for n in range(256)], [pair(n) for n in range(300, 340)]
    both = [
        {"prompt": row["prompt"], "completion": row[key]}
        for row in rows
        for key in ("chosen", "rejected")
    ]
    chats = Chats(write(tmp_path / "both.jsonl", both), length=60, batch=16)
    sft = AlignSettings(chats, Sft(), steps=150, optimizer=_optimizer(1e-2))
    fit(align_run(sft, str(make_model(tmp_path))), tmp_path / "sft")
    pairs = Pairs(write(tmp_path / "pairs.jsonl", rows), length=60, batch=16)
    dpo = AlignSettings(pairs, Preference(), steps=60, optimizer=_optimizer(2e-3))
    fit(align_run(dpo, str(tmp_path / "sft")), tmp_path / "dpo")
    before, after = (accuracy(tmp_path / name, held) for name in ("sft", "dpo"))
    record_property("in the right order", f"{before:.0%} after SFT, {after:.0%} after DPO")
    assert before < 0.8
    assert after >= 0.9
