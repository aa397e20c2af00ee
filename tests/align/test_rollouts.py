"""Learning from rewards: rollouts, ratios of exactly 1, exact resume (DEEPSPEED-6)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.align.data_files import write

import barrow.archive
from barrow.align.lora import Lora
from barrow.align.rollouts.rewards import (
    Exact,
    Matches,
    RewardFailed,
    Sample,
    Weighed,
    rewarded,
)
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.rollouts.step import RolloutError
from barrow.align.runs import AlignSettings, align_run, rollout_settings
from barrow.checkpoint.params import load_params
from barrow.errors import ConfigError
from barrow.nn.tree import paths
from barrow.train import fit
from barrow.train.program import make_program
from barrow.train.run import CheckpointSettings, Run
from barrow.train.trackers import read_log


def vowels(prompt: str, answer: str, record: Mapping[str, Any]) -> float:
    """The share of bytes above 127: half of them in a random model's answers."""
    del prompt, record
    return sum(letter > "\x7f" for letter in answer) / max(1, len(answer))


def broken(prompt: str, answer: str, record: Mapping[str, Any]) -> float:
    """Fails for one prompt, and is not a number for another."""
    if "2" in prompt:
        raise RuntimeError("no")
    return float("nan") if "3" in prompt else 1.0


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = [{"prompt": f"number {n}", "answer": str(n)} for n in range(6)]
    return write(tmp_path_factory.mktemp("prompts") / "prompts.jsonl", rows)


def settings(path: str, algorithm: Any, **more: Any) -> AlignSettings:
    given = {"rewards": (Weighed(vowels),), **more.pop("policy", {})}
    data = Prompts(path, prompts=4, answers=4, max_tokens=8, slots=4)
    return replace(
        rollout_settings(data, Policy(algorithm, **given), 2e-2),
        steps=2,
        checkpoint=CheckpointSettings(every=1, keep_last=2),
        **more,
    )


def run_of(chat_model: Path, path: str, algorithm: Any, **more: Any) -> Run:
    return align_run(settings(path, algorithm, **more), str(chat_model))


def logged(folder: Path) -> list[dict[str, Any]]:
    timed = ("seconds", "per_second", "memory", "mfu", "process", "device")
    lines = read_log(folder / "log.jsonl")
    return [{k: v for k, v in line.items() if not any(t in k for t in timed)} for line in lines]


CASES: dict[str, dict[str, Any]] = {
    "grpo": {"policy": {"kl": 0.05, "minibatches": 2, "epochs": 2}},
    "rloo": {"policy": {"kl": 0.05, "kl_in": "reward"}, "lora": Lora(4, 8.0)},
    "ppo": {
        "policy": {"kl": 0.1, "kl_in": "reward", "kl_target": 0.01, "minibatches": 2},
        "lora": Lora(4, 8.0),
    },
}


@pytest.mark.parametrize(
    "algorithm",
    [
        pytest.param("grpo", marks=pytest.mark.soak),
        pytest.param("rloo", marks=pytest.mark.soak),
        "ppo",
    ],
)
def test_it_runs_and_resumes_with_the_same_bits(
    algorithm: str, chat_model: Path, prompts: str, tmp_path: Path
) -> None:
    run = run_of(chat_model, prompts, algorithm, **CASES[algorithm])
    fit(run, tmp_path / "whole")
    lines = logged(tmp_path / "whole")
    assert [line["step"] for line in lines] == [0, 1]
    for line in lines:
        assert 0 <= line["reward"] <= 1
        assert line["gap"] < 1e-5
        assert line["gap_out"] == 0
        assert line["grad_norm"] > 0
    assert abs(lines[0]["distance"]) < 1e-4
    assert abs(lines[1]["distance"]) > 1e-4
    # As if it had been killed after the first step: what the second wrote is there, or half of it.
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed" / "checkpoints" / "step-000000002")
    (tmp_path / "killed" / "rollouts" / "step-000000001.jsonl.zst").write_bytes(b"half")
    fit(run, tmp_path / "killed")
    assert logged(tmp_path / "killed") == lines
    one, other = (paths(load_params(tmp_path / name)) for name in ("whole", "killed"))
    assert all(np.array_equal(one[path], other[path]) for path in one)
    shard = "rollouts/step-000000001.jsonl.zst"
    kept = [tmp_path / name / shard for name in ("whole", "killed")]
    assert kept[0].read_bytes() == kept[1].read_bytes()
    documents = list(barrow.archive.open(str(kept[0])))
    assert len(documents) == 16
    meta = documents[0].meta
    assert "prompts.jsonl, line" in meta["source"]
    assert meta["rewards"]["vowels"] == meta["reward"]
    assert documents[0].text == meta["prompt"] + meta["answer"]
    if algorithm == "ppo":
        assert lines[1]["kl_weight"] != lines[0]["kl_weight"]


def test_the_first_pass_must_have_ratios_of_one(
    chat_model: Path, prompts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A measurement that is not the update's own is noticed."""
    from barrow.align.rollouts.step import RolloutStep

    measured = RolloutStep._measured

    def other(self: Any, *args: Any) -> Any:
        found = measured(self, *args)
        return {**found, "old": np.nextafter(found["old"], np.float32(-np.inf))}

    monkeypatch.setattr(RolloutStep, "_measured", other)
    with pytest.raises(RolloutError, match="step 0: the first pass must have ratios of exactly 1"):
        fit(run_of(chat_model, prompts, "ppo", **CASES["ppo"]), tmp_path / "run")


def test_a_wide_gap_stops_a_run(chat_model: Path, prompts: str, tmp_path: Path) -> None:
    """Log-probabilities of the sampler that are not the update's."""
    program = make_program(run_of(chat_model, prompts, "grpo"), tmp_path)
    step: Any = program.advance
    step._refuse_gap(0.4, 3)
    for gap in (0.6, float("nan")):
        with pytest.raises(RolloutError, match="step 3: .* more than objective.most_gap=0.5"):
            step._refuse_gap(gap, 3)


def test_four_roles_in_little_memory(chat_model: Path, prompts: str, tmp_path: Path) -> None:
    """Actor, critic and reference share one base, and the engine its very arrays."""
    from barrow.align.rollouts.sampler import Sampler

    run = run_of(chat_model, prompts, "ppo", **CASES["ppo"])
    program = make_program(run, tmp_path)
    state = program.task.start(program)  # type: ignore[attr-defined]
    base = state.collections["base"]
    whole = sum(x.nbytes for x in jax.tree.leaves(base))
    persistent = state.params, state.collections, state.optimizer
    total = sum(x.nbytes for x in jax.tree.leaves(persistent))
    reward_model = whole
    assert total + reward_model <= 1.3 * 2 * whole
    sampler = Sampler(program.model, dtype="float32", slots=8, tokens=64)  # type: ignore[arg-type]
    leaf = sampler.params(state)["layers"][0]["attention"]["q"]["kernel"]
    mine = base["layers"][0]["attention"]["q"]["kernel"]
    mine = mine.addressable_data(0)
    assert leaf.base.unsafe_buffer_pointer() == mine.unsafe_buffer_pointer()


def test_a_critic_of_its_own_starts_as_the_policy(
    chat_model: Path, prompts: str, tmp_path: Path
) -> None:
    run = run_of(chat_model, prompts, "ppo", critic="own", policy={"minibatches": 2})
    program = make_program(run, tmp_path)
    state = program.task.start(program)  # type: ignore[attr-defined]
    table = state.params["critic"]["embed"]["table"]
    np.testing.assert_array_equal(table, state.params["embed"]["table"])
    objective = program.advance.objective  # type: ignore[attr-defined]
    rows = {"tokens": np.ones((1, 4), np.int32), "targets": np.ones((1, 4), np.int32)}
    kernel = np.ones((16, 1), np.float32)
    params = state.params | {"score": {"kernel": kernel}}
    values = objective.outputs(params, state.collections, rows)["values"]
    moved = params | {"critic": jax.tree.map(lambda x: 2 * x, params["critic"])}
    assert np.abs(objective.outputs(moved, state.collections, rows)["values"] - values).max() > 0.1
    with pytest.raises(ValueError, match="a critic of its own needs all parameters"):
        run_of(chat_model, prompts, "ppo", critic="own", lora=Lora(2, 4.0))


def test_a_reward_that_fails() -> None:
    samples = [
        Sample(f"number {n}", "é" * n, {}, np.zeros(1, np.int32), f"prompts.jsonl, line {n}")
        for n in range(1, 5)
    ]
    given = (Weighed(vowels), Weighed(broken, 0.5))
    with pytest.raises(RewardFailed, match="broken raised RuntimeError: no for .*line 2; .*=zero"):
        rewarded(given, samples, stop=True)
    with pytest.raises(RewardFailed, match="broken returned nan for an answer to .*line 3"):
        rewarded(given, samples[2:], stop=True)
    total, each, failed = rewarded(given, samples, stop=False)
    assert failed == 2
    assert each["broken"].tolist() == [1, 0, 0, 1]
    assert each["vowels"].tolist() == [1, 1, 1, 1]
    assert total.tolist() == [1.5, 1, 1, 1.5]


def test_checks() -> None:
    record = {"answer": 12}
    assert Exact()("", " 12\n", record) == 1
    assert Exact()("", "120", record) == 0
    assert Exact(pattern=r"= (\d+)")("", "3·4 = 7? no: 3·4 = 12.", record) == 1
    assert Exact(pattern=r"= (\d+)")("", "twelve", record) == 0
    assert Matches("^yes")("", "yes, sir", {}) == 1
    assert Matches("^yes")("", "no, yes", {}) == 0
    with pytest.raises(KeyError, match="no 'answer'; it has question"):
        Exact()("", "12", {"question": "?"})


BAD = {
    "data.answers must be ≥ 2, got 1": {"data": {"answers": 1}},
    "cannot be divided into 3 updates": {"policy": {"minibatches": 3}},
    "set objective.kl_in=reward": {"algorithm": "rloo", "policy": {"kl": 0.1}},
    "objective.kl_target needs a first weight": {"policy": {"kl_target": 0.1}},
    "leave no room for a prompt in 128 positions": {"data": {"max_tokens": 128}},
    "the prompt has 9 tokens; with 122 of an answer at most 6 fit": {"data": {"max_tokens": 122}},
    "needs a reward": {"policy": {"rewards": ()}},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_settings(message: str, chat_model: Path, prompts: str, tmp_path: Path) -> None:
    given = BAD[message]
    with pytest.raises((ValueError, ConfigError), match=message):
        policy = dict(given.get("policy", {}))
        made = settings(prompts, given.get("algorithm", "grpo"), policy=policy)
        made = replace(made, data=replace(made.data, **given.get("data", {})))
        fit(align_run(made, str(chat_model)), tmp_path / "run")
