from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.train import Run
from barrow.train.metrics_log import Logbook, Trouble
from barrow.train.objectives.objective import Mean
from barrow.train.program import Program, make_program
from barrow.train.step import StepMetrics
from barrow.train.tasks.task import Work
from barrow.train.watch import Watch

WORK = Work(128, 128 * 1e6)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def metrics(loss: float, *, bad: int = -1, scale: float | None = None) -> StepMetrics:
    return StepMetrics(
        loss=Mean(jnp.float32(loss * 100), jnp.float32(100)),
        metrics={
            "accuracy": Mean(jnp.float32(30), jnp.float32(60)),
            "dropped": Mean(jnp.float32(8), jnp.float32(64)),
        },
        grad_norm=jnp.float32(0.5 if bad < 0 else jnp.inf),
        bad_tensor=jnp.int32(bad),
        scale=None if scale is None else jnp.float32(scale),
    )


@pytest.fixture
def program(run: Run) -> Program:
    return make_program(run)


def make(run: Run, program: Program, told: Any, clock: Any = None) -> Logbook:
    return Logbook(run, program, [told], watch=Watch(), clock=clock or Clock())


def test_a_step_is_told_when_the_next_is_under_way(run: Run, program: Program, told: Any) -> None:
    log = make(run, program, told)
    for step in range(4):
        log.add(step, WORK, metrics(2.0 + step))
        assert all(call[0] < step for call in told.calls)
    log.settle()
    log.settle()
    assert [call[0] for call in told.calls] == [0, 1, 3]  # every second, and the first
    values = told.calls[1][1]
    assert values["loss"] == pytest.approx(3.0)
    assert values["bits_per_token"] == pytest.approx(3.0 / np.log(2))
    assert (values["tokens"], values["grad_norm"], values["accuracy"]) == (100, 0.5, 0.5)
    # DEEPSPEED-11: the share of choices that an expert had no room for, and their number.
    assert (values["dropped"], values["dropped_choices"]) == (0.125, 8)
    assert log.watch.losses == pytest.approx((2.0, 3.0, 4.0, 5.0))


def test_validation_losses_belong_to_the_step_before(run: Run, program: Program, told: Any) -> None:
    clock = Clock()
    log = make(run, program, told, clock)
    for step in range(3):
        log.add(step, WORK, metrics(2.0))
        clock.now += 2
    seen = {"loss": (30, 20), "accuracy": (15, 20)}
    means = {k: Mean(np.float64(a), np.float64(b)) for k, (a, b) in seen.items()}  # type: ignore[arg-type]
    log.evaluated(lambda: means)
    log.settle()
    step, values = told.calls[-1]
    assert step == 2  # which would not have been told without
    assert (values["validation_loss"], values["validation_tokens"]) == (1.5, 20)
    assert values["validation_accuracy"] == 0.75
    log.add(3, WORK, metrics(2.0))
    log.settle()
    assert "validation_loss" not in told.calls[-1][1]


def test_time_of_evaluation_does_not_count(run: Run, program: Program, told: Any) -> None:
    clock = Clock()
    log = make(replace(run, log_every=1), program, told, clock)

    def slow() -> dict[str, Mean]:
        clock.now += 100
        return {"loss": Mean(np.float64(1), np.float64(1))}  # type: ignore[arg-type]

    for step in range(3):
        log.add(step, WORK, metrics(2.0))
        clock.now += 2
        log.evaluated(slow)
    log.settle()
    assert [call[1].get("step_seconds") for call in told.calls] == [None, 2.0, 2.0]
    assert told.calls[1][1]["tokens_per_second"] == 64
    assert "mfu" not in told.calls[1][1]


def test_mfu_where_the_peak_is_known(
    run: Run, program: Program, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barrow.train.metrics_log.peak_flops", lambda devices: 1e9)
    clock = Clock()
    log = make(replace(run, log_every=1), program, told, clock)
    for step in range(2):
        log.add(step, WORK, metrics(2.0))
        clock.now += 2
    log.settle()
    assert told.calls[1][1]["mfu"] == pytest.approx(64 * 1e6 / 1e9)


def test_trouble_names_step_and_tensor(run: Run, program: Program, told: Any) -> None:
    log = make(run, program, told)
    log.add(0, WORK, metrics(2.0))
    log.add(1, WORK, metrics(2.0))
    log.add(2, WORK, metrics(float("nan"), bad=1))
    with pytest.raises(Trouble, match="step 2: the gradient of layers/attention/") as trouble:
        log.add(3, WORK, metrics(2.0))
    assert trouble.value.step == 2
    # It is told though it is not its turn, without what JSON cannot hold.
    step, values = told.calls[-1]
    assert step == 2
    assert "loss" not in values
    assert "grad_norm" not in values
    assert "overflow" not in values


def test_a_loss_that_overflows_alone(run: Run, program: Program, told: Any) -> None:
    log = make(run, program, told)
    log.add(2, WORK, metrics(float("inf"), bad=-2, scale=1024.0))
    log.settle()
    assert told.calls[-1][1]["overflow"] == "the loss itself"
    assert log.watch.overflows == 1
    log = make(run, program, told)
    log.add(2, WORK, metrics(float("inf"), bad=-2))
    with pytest.raises(Trouble, match="step 2: the loss is inf"):
        log.settle()


def test_overflows_are_counted_and_the_schedule_waits(
    run: Run, program: Program, told: Any
) -> None:
    log = make(run, program, told)
    for step in range(4):
        log.add(step, WORK, metrics(2.0, bad=0 if step == 1 else -1, scale=1024.0))
    log.settle()
    assert [call[0] for call in told.calls] == [0, 1, 3]
    assert told.calls[1][1]["overflow"] == "embed/table"
    assert told.calls[2][1]["overflows"] == 1
    rate = run.optimizer.schedule.rate
    for call, moved in zip(told.calls, (0, 1, 2), strict=True):
        wanted = float(rate(moved, run.steps))  # type: ignore[arg-type]
        assert call[1]["learning_rate"] == pytest.approx(wanted)


@pytest.mark.parametrize("scale", [None, 8.0])
def test_a_validation_loss_that_is_not_finite(
    run: Run, program: Program, told: Any, scale: float | None
) -> None:
    """It is not written, and stops the run before such parameters are saved; fp16 may overflow."""
    log = make(run, program, told)
    log.add(2, WORK, metrics(2.0, scale=scale))
    log.evaluated(lambda: {"loss": Mean(np.float64("nan"), np.float64(20))})  # type: ignore[arg-type]
    if scale is None:
        with pytest.raises(Trouble, match="step 2: the validation loss after it is nan") as trouble:
            log.settle()
        assert trouble.value.good == 2
    else:
        log.settle()
    step, values = told.calls[-1]
    assert (step, values["validation_tokens"]) == (2, 20)
    assert "validation_loss" not in values


def test_nothing_is_computed_on_a_device(
    run: Run, program: Program, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be done after the next step, and reading it would wait for that."""
    log = make(replace(run, log_every=1), program, told)
    log.add(0, WORK, metrics(2.0))
    for name in ("where", "asarray", "minimum", "clip", "cos", "ones"):
        monkeypatch.setattr(jnp, name, None)
    with jax.transfer_guard_host_to_device("disallow"):
        log.settle()
    assert told.calls[-1][1]["loss"] == pytest.approx(2.0)
