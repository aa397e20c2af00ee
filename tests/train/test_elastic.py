"""A batch for many numbers of devices, and a run that goes from one to another (DEEPSPEED-14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import pytest
from tests.parallel.several_processes import in_several

from barrow import config
from barrow.errors import ConfigError
from barrow.parallel import make_mesh
from barrow.train import AdamW, Constant, Run, StepSettings, elastic_batch, fit, program
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("compiled_once")


def test_the_batch_that_the_most_numbers_of_devices_divide() -> None:
    """The numbers of DeepSpeed's own test."""
    found = elastic_batch([8, 12, 16, 17], at_most=10_000, devices=(32, 1500))
    assert found.batch == 9792
    assert len(found.devices) == 23
    assert found.micro_batches[64] == 17
    for num in range(32, 1501):
        micros = [micro for micro in (8, 12, 16, 17) if 9792 % (micro * num) == 0]
        assert (num in found.devices) == bool(micros)
        if micros:
            assert num * found.accumulate(num) * max(micros) == 9792


def test_what_is_refused() -> None:
    found = elastic_batch([2, 4], at_most=64, devices=(1, 8))
    assert (found.batch, found.devices, found.accumulate(8)) == (48, (1, 2, 3, 4, 6, 8), 3)
    with pytest.raises(
        ConfigError, match="48 rows cannot be divided over 7 devices; use 3, 4, 6, 8"
    ):
        found.accumulate(7)
    with pytest.raises(ConfigError, match="32 devices need at least 64 rows, got 63"):
        elastic_batch([2, 4], at_most=63, devices=(32, 64))
    with pytest.raises(ConfigError, match=r"must be ≥ 1, got \[0\] and \(1, 2\)"):
        elastic_batch([0], at_most=8, devices=(1, 2))


Losses = Callable[[Path, int, int], list[float]]


@pytest.fixture
def losses(run: Run, monkeypatch: pytest.MonkeyPatch) -> Losses:
    """Trains a folder up to a step on some devices; all its losses."""
    settings = replace(
        run, data=replace(run.data, batch=16), optimizer=AdamW(Constant(peak=1e-2)), log_every=1
    )

    def train(folder: Path, steps: int, devices: int) -> list[float]:
        mesh = partial(make_mesh, devices=jax.devices()[:devices])
        monkeypatch.setattr(program, "make_mesh", mesh)
        accumulate = elastic_batch([2], at_most=16, devices=(1, 8)).accumulate(devices)
        step = replace(settings.step, accumulate=accumulate)
        fit(replace(settings, step=step, steps=steps), folder)
        return [line["loss"] for line in read_log(folder / "log.jsonl")]

    return train


def test_a_run_resumes_on_fewer_devices(losses: Losses, tmp_path: Path) -> None:
    losses(tmp_path / "a", 2, 8)
    found = losses(tmp_path / "a", 4, 2)
    assert found == pytest.approx(losses(tmp_path / "b", 4, 8), rel=1e-5)


@pytest.mark.soak
def test_a_run_goes_from_8_to_4_to_2_to_8_devices(losses: Losses, tmp_path: Path) -> None:
    for steps, devices in ((2, 8), (4, 4), (6, 2)):
        losses(tmp_path / "a", steps, devices)
    found = losses(tmp_path / "a", 8, 8)
    assert found == pytest.approx(losses(tmp_path / "b", 8, 1), rel=1e-5)


@pytest.mark.soak
def test_a_run_of_four_processes_resumes_in_two_and_on_eight_devices(
    run: Run, tmp_path: Path, compiled_once: Path
) -> None:
    """Eight devices, two, eight: the global batch stays, and with it the losses."""
    made = replace(run, optimizer=AdamW(Constant(peak=1e-2)), log_every=1)
    for steps, num, devices in ((2, 4, 2), (4, 2, 1)):
        step = StepSettings(accumulate=8 // (num * devices))
        settings = tmp_path / f"{steps}.json"
        settings.write_text(config.to_json(replace(made, steps=steps, step=step)))
        cache = {"JAX_COMPILATION_CACHE_DIR": str(compiled_once), "PROCESSES": str(num)}
        process = "tests.train.fit_process", settings, tmp_path / "a"
        for ended in in_several(*process, num=num, devices=devices, **cache):
            assert ended.code == 0, ended.err
    fit(replace(made, steps=6), tmp_path / "a")
    fit(replace(made, steps=6), tmp_path / "b")
    found, wanted = (read_log(tmp_path / name / "log.jsonl") for name in "ab")
    assert [line["step"] for line in found] == list(range(6))
    expected = [line["loss"] for line in wanted]
    assert [line["loss"] for line in found] == pytest.approx(expected, rel=1e-5)
