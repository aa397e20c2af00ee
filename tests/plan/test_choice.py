from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest
from tests.plan.small_run import SHAPE, hardware, small_run

from barrow.errors import ConfigError
from barrow.plan import (
    Answer,
    Hardware,
    Plan,
    Request,
    Subject,
    advice,
    ask,
    autotune,
    candidate,
    choose,
    no_fit,
    planned,
)
from barrow.plan.worker import answer
from barrow.train import Run
from barrow.train.optimizers import AdamW, Lion
from barrow.train.run import MeshSettings


def test_the_fastest_measured_comes_first(subject: Subject) -> None:
    """DEEPSPEED-14."""
    tried: list[Run] = []

    def measure(run: Run) -> Answer:
        tried.append(run)
        return Answer(seconds=1.0 / len(tried), peak=1)

    found = autotune(subject, hardware(), measure=measure, few=3)
    assert [one.seconds for one in found] == [1 / 3, 1 / 2, 1.0]
    assert Plan.of(tried[-1], 8) == found[0].plan


def test_out_of_memory_means_smaller_micro_batches(subject: Subject) -> None:
    def measure(run: Run) -> Answer:
        is_short = run.step.accumulate < 4
        return Answer(is_out_of_memory=True) if is_short else Answer(seconds=1.0, peak=1)

    found = autotune(subject, hardware(), measure=measure, few=1)
    assert [(one.plan.accumulate, one.seconds) for one in found] == [(4, 1.0), (1, None), (2, None)]
    with pytest.raises(ConfigError, match="every plan that was tried ran out of memory: "):
        autotune(subject, hardware(), measure=lambda _: Answer(is_out_of_memory=True), few=1)


def test_one_mesh_is_tried_in_several_ways() -> None:
    tried: list[Plan] = []

    def measure(run: Run) -> Answer:
        tried.append(Plan.of(run, 1))
        return Answer(seconds=1.0, peak=1)

    one = hardware(devices=1)
    subject = Subject(small_run(batch=2))
    autotune(subject, one, measure=measure, few=5)
    mesh = MeshSettings(data=1)
    remats = ("none", "cheap", "attention", "all")
    assert tried == [*(Plan(mesh, 1, remat) for remat in remats), Plan(mesh, 2)]
    tried.clear()
    autotune(subject, one, measure=measure, few=9, least=2, is_split=False)
    assert tried == [Plan(mesh, 2, remat) for remat in remats]


def test_a_step_in_this_process() -> None:
    run = small_run(mesh=MeshSettings(data=8), remat="all")
    found = answer(Request(run, steps=2))
    assert found.seconds is not None
    assert found.peak is not None
    assert found.memory is not None
    assert found.memory.is_compiled


def test_a_process_that_runs_out_of_memory_is_an_answer() -> None:
    run = small_run(batch=8)
    assert ask(Request(run, limit=1000), devices=2) == Answer(is_out_of_memory=True)


def said_by(run: Run, folder: Path, **how: Any) -> tuple[Run, list[str]]:
    said: list[str] = []
    how = {"is_given": False, "is_fixed": False} | how
    return planned(run, folder, write=said.append, **how), said


def test_a_choice_is_kept_and_used_again(tmp_path: Path) -> None:
    run = small_run(accumulate=2)
    subject = Subject(run)
    plain = choose(subject, hardware())
    room = hardware(plain.memory.total - 1)
    chosen, said = said_by(run, tmp_path, hardware=room)
    assert (chosen.mesh, chosen.step.accumulate) != (run.mesh, plain.plan.accumulate)
    expected = choose(subject, room)
    assert said == [str(expected)]
    assert Plan.of(chosen, 8) == expected.plan
    saved = json.loads((tmp_path / "plan.json").read_text())
    assert saved["devices"] == 8
    again, said = said_by(chosen, tmp_path, is_fixed=True)
    assert again == chosen
    assert said == [f"plan: {expected.plan}, from {tmp_path / 'plan.json'}"]
    assert said_by(run, tmp_path)[0] == chosen  # by its recipe, as by its folder
    # On other devices it is chosen again, with the same micro-batches.
    (tmp_path / "plan.json").write_text(json.dumps({**saved, "devices": 4}))
    again, _ = said_by(run, tmp_path, hardware=hardware())
    assert again.step.accumulate == chosen.step.accumulate
    assert json.loads((tmp_path / "plan.json").read_text())["devices"] == 8


def test_what_is_given_stays(tmp_path: Path) -> None:
    run = small_run()
    assert said_by(run, tmp_path, is_given=True) == (run, [])
    with_mesh = small_run(mesh=MeshSettings(data=4, tensor=2))
    assert said_by(with_mesh, tmp_path) == (with_mesh, [])
    # A mesh of rows alone stays open, for other devices when the run resumes.
    assert said_by(run, tmp_path, hardware=hardware())[0] == run
    assert said_by(run, tmp_path)[1] == [f"plan: data=8, from {tmp_path / 'plan.json'}"]


@pytest.mark.usefixtures("one_device")
def test_on_one_device_nothing_is_chosen_or_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Hardware, "subject")
    run = small_run()
    gpu = replace(hardware(1 << 30, devices=1), is_cpu=False)
    same, said = said_by(run, tmp_path, hardware=gpu)
    assert (same, said) == (run, ["plan: one device, at least 0.00 of 1.0 GiB"])
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.usefixtures("one_device")
@pytest.mark.parametrize(("optimizer", "bytes_each"), [(AdamW(), 12), (Lion(), 8)])
def test_on_one_device_too_little_memory_is_said(
    tmp_path: Path, optimizer: Any, bytes_each: int
) -> None:
    """Parameters in float32, and two moments of each, or one."""
    run = replace(small_run(), optimizer=optimizer)
    num = bytes_each * sum(x.size for x in jax.tree.leaves(Subject(run).state.params))
    for memory, is_enough in ((num - 1, False), (num + 1000, True)):
        _, said = said_by(run, tmp_path, hardware=hardware(memory, devices=1))
        assert said[0].endswith(": too little") != is_enough


@pytest.mark.usefixtures("one_device")
def test_advice_for_a_run_without_room() -> None:
    run = small_run(batch=64)
    gpu = replace(hardware(devices=1), is_cpu=False)
    total = candidate(Subject(run), Plan.of(run, 1), gpu).memory.total
    said = advice(run, replace(gpu, memory=total // 2))
    assert said.startswith("plan: one device, about 0.")
    assert said.endswith("; micro-batch 16 would fit")


@pytest.mark.usefixtures("one_device")
def test_advice_for_long_rows() -> None:
    run = small_run(batch=8, precision="bf16", model=replace(SHAPE, context=8192))
    run = replace(run, data=replace(run.data, seq_len=8192))
    gpu = replace(hardware(2 << 30, devices=1), is_cpu=False)
    words = "; attention needs 4.00 GiB to give the same bits each time, and none with "
    assert advice(run, gpu).endswith(words + "step.deterministic=false")
    subject = gpu.subject(run)
    assert words in no_fit(subject, candidate(subject, Plan(MeshSettings(data=1)), gpu), gpu)
    free = replace(run, step=replace(run.step, deterministic=False))
    assert "same bits" not in advice(free, gpu)
