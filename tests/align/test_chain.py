"""The whole chain on the command line: chats, rewards, PPO and GRPO (DEEPSPEED-6)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.align.data_files import chats, pairs, write

import barrow.archive
from barrow.cli.main import run as command
from barrow.train.trackers import read_log

REWARD = """
def short(prompt, answer, record):
    if "1" in prompt or "2" in prompt:
        raise RuntimeError("no")
    return -len(answer) / 10
"""


@pytest.mark.usefixtures("one_device")
def test_sft_reward_ppo_and_grpo(
    chat_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "chats.jsonl", chats(16))
    write(tmp_path / "pairs.jsonl", pairs(16))
    write(tmp_path / "prompts.jsonl", [{"prompt": f"question {n}?"} for n in range(5)])
    (tmp_path / "my_rewards.py").write_text(REWARD)
    few = ["steps=1", "data.length=64", "data.batch=8"]
    drawn = ["steps=1", "data.max_tokens=4", "data.prompts=4", "data.slots=4", "lora.rank=2"]
    assert command(["align", "sft", str(chat_model), "chats.jsonl", "--out", "sft", *few]) == 0
    assert command(["align", "reward", "sft", "pairs.jsonl", "--out", "reward", *few]) == 0
    ppo = ["align", "ppo", "sft", "--reward", "reward", "--prompts", "prompts.jsonl"]
    assert command([*ppo, "--out", "ppo", *drawn, "data.answers=2"]) == 0
    said = capsys.readouterr()
    assert "rewards: 1 × rewardmodel" in said.err
    assert "5 prompts; a step is 4 prompts × 2 answers of up to 4 tokens" in said.err
    (line,) = read_log(Path("ppo") / "log.jsonl")
    assert {"reward", "reward_rewardmodel", "value_loss", "entropy", "gap", "distance"} <= set(line)
    grpo = ["align", "grpo", "sft", "--prompts", "prompts.jsonl", *drawn, "data.answers=2"]
    given = ["--reward", "0.5*my_rewards:short", "--reward", "regex:[a-z]"]
    assert command([*grpo, "--out", "grpo", *given, "algorithm=rloo"]) == 1
    assert "the reward short raised RuntimeError: no for an answer to" in capsys.readouterr().err
    given += ["objective.on_bad_reward=zero"]
    shutil.rmtree("grpo")
    assert command([*grpo, "--out", "grpo", *given, "algorithm=rloo"]) == 0
    (line,) = read_log(Path("grpo") / "log.jsonl")
    assert line["bad_rewards"] in (2, 4)  # one or both of these prompts, two answers each
    documents = list(barrow.archive.open("grpo/rollouts"))
    assert len(documents) == 8
    meta = documents[0].meta
    assert meta["reward"] == pytest.approx(
        0.5 * meta["rewards"]["short"] + meta["rewards"]["matches"]
    )
    saved = json.loads(Path("grpo/run.json").read_text())
    assert saved["objective"]["rewards"][0]["reward"]["object"] == "my_rewards:short"
    for name in ("ppo", "grpo"):
        assert command(["tokens", "lineage", name, "--step", "0"]) == 0
        assert "prompts.jsonl, line" in capsys.readouterr().out
    assert command(["align", "card", "sft/checkpoints"]) == 1
    assert "is not a run" in capsys.readouterr().err
    for words, message in (
        (["--reward", "nothing:here"], "there is no module 'nothing'"),
        (["--reward", "my_rewards:long"], "my_rewards has no function 'long'"),
        (["--reward", "sft"], "is not a reward model"),
        (["--reward", "code"], "pass --allow-code"),
        ([], "pass --prompts FILE and --reward REWARD"),
    ):
        assert command([*grpo, "--out", "bad", *words]) in (1, 2)
        assert message in capsys.readouterr().err
