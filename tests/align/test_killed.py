"""Every kind of run, killed with SIGKILL and started again: the same bits (DEEPSPEED-6)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.align.data_files import chats, pairs, write

from barrow.checkpoint.params import load_params
from barrow.nn.tree import paths
from barrow.train.trackers import read_log

pytestmark = pytest.mark.soak

STATIC = ["data.length=64", "data.batch=8"]
DRAWN = ["data.prompts=4", "data.answers=2", "data.max_tokens=8", "data.slots=8"]
DRAWN += ["--prompts", "prompts.jsonl", "--reward", "regex:[a-m]"]
KINDS: dict[str, list[str]] = {
    "sft": ["sft", "MODEL", "chats.jsonl", *STATIC],
    "reward": ["reward", "MODEL", "pairs.jsonl", *STATIC],
    "dpo": ["dpo", "MODEL", "pairs.jsonl", *STATIC],
    "kto": ["dpo", "MODEL", "pairs.jsonl", "loss=kto", "lora.rank=4", *STATIC],
    "ppo": ["ppo", "MODEL", *DRAWN, "objective.kl_target=0.5"],
    "grpo": ["grpo", "MODEL", *DRAWN, "lora.rank=4"],
}


def logged(folder: Path) -> list[dict[str, Any]]:
    timed = ("seconds", "per_second", "memory", "mfu", "process", "device")
    lines = read_log(folder / "log.jsonl")
    return [{k: v for k, v in line.items() if not any(t in k for t in timed)} for line in lines]


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_with_the_same_bits(
    kind: str, chat_model: Path, tmp_path: Path
) -> None:
    write(tmp_path / "chats.jsonl", chats(24))
    write(tmp_path / "pairs.jsonl", pairs(24))
    write(tmp_path / "prompts.jsonl", [{"prompt": f"number {n}"} for n in range(6)])
    given = [str(chat_model) if word == "MODEL" else word for word in KINDS[kind]]
    given += ["steps=5", "optimizer.schedule.peak=0.02", "checkpoint.every=1", "log_every=1"]
    for name, kills in (("whole", 0), ("killed", 2)):
        for number in range(kills + 1):
            process = subprocess.Popen(
                [sys.executable, "-m", "barrow", "align", *given, "--out", name],
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stderr is not None
            lines, said = 0, []
            for line in process.stderr:
                said.append(line)
                lines += "loss" in line
                if number < kills and lines == 2:
                    process.kill()
            assert process.wait() == (-9 if number < kills else 0), said
    one, other = tmp_path / "whole", tmp_path / "killed"
    assert logged(one) == logged(other)
    kept = [sorted((folder / "rollouts").glob("*")) for folder in (one, other)]
    assert [x.read_bytes() for x in kept[0]] == [x.read_bytes() for x in kept[1]]
    assert len(kept[0]) == (5 if kind in ("ppo", "grpo") else 0)
    mine, theirs = (paths(load_params(folder)) for folder in (one, other))
    assert all(np.array_equal(mine[path], theirs[path]) for path in mine)
