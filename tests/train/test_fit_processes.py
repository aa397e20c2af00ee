"""A run in two processes of four devices, which one process goes on with."""

from __future__ import annotations

import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.parallel.several_processes import Ended, in_several, in_two

from barrow import config
from barrow.checkpoint import Checkpoints, load_params
from barrow.files import locked
from barrow.train import (
    CheckpointSettings,
    EvaluationSettings,
    MeshSettings,
    Run,
    StepSettings,
    fit,
)
from barrow.train.program import make_program
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("compiled_once")


def test_two_processes_train_as_one_and_one_goes_on(
    run: Run, validation: Path, tmp_path: Path, compiled_once: Path
) -> None:
    """The same losses, evaluations and parameters; ZeRO 3 divides state between the processes."""
    run = replace(
        run,
        steps=5,
        validation=str(validation),
        mesh=MeshSettings(data=1, fsdp=8, zero=3),
        evaluation=EvaluationSettings(3, 2),
        checkpoint=CheckpointSettings(3),
        log_every=1,
    )
    settings = tmp_path / "settings.json"
    settings.write_text(config.to_json(run))
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(compiled_once)}
    for told in in_two("tests.train.fit_process", settings, tmp_path / "two", **compiled):
        assert f"done {run.steps}" in told
    alone = fit(run, tmp_path / "one")
    lines, wanted = (read_log(tmp_path / name / "log.jsonl") for name in ("two", "one"))
    # The first process alone tells: a line for each step.
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4]
    for ours, theirs in zip(lines, wanted, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
        assert ours["tokens"] == theirs["tokens"]
    validation = [
        [x["validation_loss"] for x in log if "validation_loss" in x] for log in (lines, wanted)
    ]
    assert validation[0] == pytest.approx(validation[1], rel=1e-5)
    assert len(validation[0]) == 2
    # Both wrote their part.
    saved = tmp_path / "two" / "checkpoints" / "step-000000003"
    parts = {"arrays-00000.safetensors", "arrays-00001.safetensors"}
    assert parts <= {path.name for path in saved.iterdir()}
    # One process goes on from there, on another mesh, to the same parameters.
    Checkpoints(tmp_path / "two" / "checkpoints").discard_after(3)
    onwards: Any = fit(replace(run, mesh=MeshSettings()), tmp_path / "two")
    assert int(onwards.step) == 5
    for ours, theirs in zip(
        jax.tree.leaves(onwards.params), jax.tree.leaves(alone.params), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def spread(
    run: Run, tmp_path: Path, compiled: Path, num: int, devices: int, **sizes: int
) -> list[str]:
    """What processes on a mesh printed; their losses and parameters are those of one process."""
    run = replace(run, steps=3, log_every=1, mesh=MeshSettings(**sizes))
    settings = tmp_path / "settings.json"
    settings.write_text(config.to_json(run))
    ends = in_several(
        *("tests.train.fit_process", settings, tmp_path / "several"),
        num=num,
        devices=devices,
        PROCESSES=str(num),
        JAX_COMPILATION_CACHE_DIR=str(compiled),
    )
    for one in ends:
        assert one.code == 0, one.out + one.err
    alone: Any = fit(replace(run, mesh=MeshSettings()), tmp_path / "one")
    logs = (read_log(tmp_path / name / "log.jsonl") for name in ("several", "one"))
    for ours, theirs in zip(*logs, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
    several = load_params(tmp_path / "several", alone.params)
    for ours, theirs in zip(jax.tree.leaves(several), jax.tree.leaves(alone.params), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    return [one.out for one in ends]


def test_four_processes_divide_rows_and_columns(
    run: Run, tmp_path: Path, compiled_once: Path
) -> None:
    """`fsdp` and `sequence` cross processes: each reads a quarter of a batch (ACCELERATE-12)."""
    told = spread(run, tmp_path, compiled_once, 4, 1, data=1, fsdp=2, sequence=2, zero=3)
    half = run.seq_len // 2
    for process, said in enumerate(told):
        rows = "0:4" if process < 2 else "4:8"
        columns = f"0:{half}" if process % 2 == 0 else f"{half}:{2 * half}"
        assert f"read [('{rows}', '{columns}')]" in said


@pytest.mark.soak
@pytest.mark.parametrize(
    "sizes", [{"tensor": 2}, {"sequence": 2}, {"fsdp": 2, "zero": 2}, {"stage": 2}]
)
def test_two_processes_share_an_axis(
    run: Run, tmp_path: Path, compiled_once: Path, sizes: dict[str, int]
) -> None:
    run = replace(run, model=replace(run.model, layers=2))
    spread(run, tmp_path, compiled_once, 2, 1, data=1, **sizes)


def test_trouble_of_one_process_ends_all_with_its_words(
    run: Run, tmp_path: Path, compiled_once: Path
) -> None:
    """Other settings, no store, a folder in use, ids over the vocabulary: nobody waits for ever."""
    settings = tmp_path / "settings.json"
    settings.write_text(config.to_json(run))
    (tmp_path / "held").mkdir()
    with locked(tmp_path / "held"):
        first, second = in_several(
            "tests.train.joint_process",
            *(2, settings, tmp_path / "run"),
            num=2,
            devices=1,
            JAX_COMPILATION_CACHE_DIR=str(compiled_once),
        )
    said, other = (
        [line for line in ended.out.splitlines() if not line.startswith("[Gloo]")]
        for ended in (first, second)
    )
    assert said[0] == other[0]
    assert said[0].startswith("ConfigError: process 1 has other settings than the first (seed: 9,")
    assert other[1].startswith("NotFound: nowhere is not a token store")
    assert said[1] == f"PeerFailed: process 1 failed: {other[1]}"
    assert said[2].startswith("FileExistsError: ")
    assert "another process is training there" in said[2]
    assert other[2] == f"PeerFailed: process 0 failed: {said[2]}"
    # The first waits for the devices of the second: it cannot raise, and ends.
    assert (first.code, second.code) == (1, 1)
    assert "ValueError: step 0, row 7" in second.err
    assert "process 1 failed: ValueError: step 0, row 7, column 0" in first.err
    assert Checkpoints(tmp_path / "run" / "checkpoints").steps() == []


@pytest.mark.soak
def test_two_processes_of_which_one_is_asked_to_stop(
    run: Run, tmp_path: Path, compiled_once: Path
) -> None:
    """Both stop after the same step, with a checkpoint of both, whichever was asked."""
    run = replace(
        run, steps=40, mesh=MeshSettings(data=1, fsdp=8, zero=3), checkpoint=CheckpointSettings(30)
    )
    settings = tmp_path / "settings.json"
    settings.write_text(config.to_json(replace(run, log_every=1)))
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(compiled_once)}
    first, second = in_two("tests.train.fit_process", settings, tmp_path / "two", 1, **compiled)
    said, other = (told.splitlines()[-1] for told in (first, second))
    assert said == other
    assert said.startswith("stopped after step ")
    step = int(said.split()[3].rstrip(","))
    assert step < 10
    assert Checkpoints(tmp_path / "two" / "checkpoints").steps() == [step + 1]


@pytest.mark.soak
def test_four_processes_stop_go_on_and_change_their_number(
    run: Run, tmp_path: Path, compiled_once: Path
) -> None:
    """4 steps and 3 more in four processes are 7, bit for bit; in two the same to rounding."""
    run = replace(
        run,
        steps=7,
        mesh=MeshSettings(data=1, fsdp=-1, zero=3),
        step=StepSettings(accumulate=2, ema=0.9),
        checkpoint=CheckpointSettings(4),
    )
    settings = tmp_path / "settings.json"
    settings.write_text(config.to_json(run))

    def in_number(num: int, out: str) -> Path:
        compiled = {"JAX_COMPILATION_CACHE_DIR": str(compiled_once), "PROCESSES": str(num)}
        for ended in in_several(
            "tests.train.fit_process", settings, tmp_path / out, num=num, devices=1, **compiled
        ):
            assert ended.code == 0, ended.out + ended.err
        return tmp_path / out / "checkpoints" / "step-000000007"

    whole = in_number(4, "whole")
    for out in ("four", "two"):
        shutil.copytree(tmp_path / "whole", tmp_path / out)
        Checkpoints(tmp_path / out / "checkpoints").discard_after(4)
    again, other = in_number(4, "four"), in_number(2, "two")
    parts = sorted(path.name for path in whole.iterdir())
    assert parts[:-1] == [f"arrays-{n:05}.safetensors" for n in range(4)]
    for part in parts:
        assert (whole / part).read_bytes() == (again / part).read_bytes()
    program = make_program(replace(run, mesh=MeshSettings(), step=StepSettings(ema=0.9)))
    ours, theirs = (
        Checkpoints(one.parent).restore(7, program.shapes, shardings=program.shardings)
        for one in (whole, other)
    )
    for a, b in zip(jax.tree.leaves(ours.params), jax.tree.leaves(theirs.params), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.soak
def test_a_process_that_is_killed_ends_the_others_and_all_go_on(
    run: Run, tmp_path: Path, compiled_once: Path
) -> None:
    run = replace(run, steps=12, checkpoint=CheckpointSettings(3), log_every=1)
    settings = tmp_path / "settings.json"
    settings.write_text(config.to_json(run))

    def in_four(*killed: int) -> list[Ended]:
        return in_several(
            *("tests.train.fit_process", settings, tmp_path / "run", *killed),
            num=4,
            devices=1,
            JAX_COMPILATION_CACHE_DIR=str(compiled_once),
            PROCESSES="4",
            SIGNAL="SIGKILL",
        )

    ended = in_four(2)
    assert ended[2].code == -signal.SIGKILL
    for number in (0, 1, 3):
        assert ended[number].code != 0
        told = ended[number].err
        assert "cannot reach the devices of another" in told or "tasks have crashed" in told
    steps = Checkpoints(tmp_path / "run" / "checkpoints").steps()
    assert steps
    assert steps[-1] < 12
    for one in in_four():
        assert "done 12" in one.out
    assert [line["step"] for line in read_log(tmp_path / "run" / "log.jsonl")] == list(range(12))
