"""Learning rates at their corners."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.train import Constant, Cosine, Linear, Schedule, WarmupStableDecay


def rates(schedule: Schedule, num: int) -> list[float]:
    return [float(schedule.rate(step, num)) for step in range(num + 3)]


def test_warmup_rises_to_the_peak_and_never_begins_at_zero() -> None:
    found = rates(Constant(peak=1.0, warmup=4), 10)
    assert found[:5] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert rates(Constant(peak=1.0), 4)[0] == 1.0


def test_a_share_of_the_steps_as_warmup() -> None:
    assert rates(Constant(peak=1.0, warmup=0.35), 10) == rates(Constant(peak=1.0, warmup=4), 10)


def test_cosine() -> None:
    found = rates(Cosine(peak=2.0, warmup=2, end=0.1), 12)
    assert found[2] == pytest.approx(2.0)
    for step in range(2, 12):
        share = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - 2) / 10))
        assert found[step] == pytest.approx(2 * share, rel=1e-5)
    assert found[12] == found[14] == pytest.approx(0.2)


def test_linear() -> None:
    found = rates(Linear(peak=1.0, end=0.0), 10)
    assert found[:11] == pytest.approx([1 - k / 10 for k in range(11)], abs=1e-6)
    assert found[12] == 0


def test_wsd_is_flat_and_falls_at_the_end() -> None:
    found = rates(WarmupStableDecay(peak=1.0, end=0.0, decay=0.25), 20)
    assert found[:16] == pytest.approx([1.0] * 16)
    assert found[15:21] == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 0], abs=1e-5)


def test_a_run_shorter_than_its_warmup_only_rises() -> None:
    assert rates(Cosine(peak=1.0, warmup=100), 4)[3] == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"peak": math.nan}, "a learning rate must be ≥ 0, got nan"),
        ({"peak": math.inf}, "got inf"),
        ({"peak": -1.0}, "got -1.0"),
        ({"warmup": -1}, "warmup must be steps, ≥ 0, or a share of them below 1, got -1"),
        ({"end": 2.0}, "end must be a share between 0 and 1, got 2.0"),
        ({"decay": 0.0}, "decay must be a share between 0 and 1, got 0.0"),
    ],
)
def test_bad_settings(wrong, said) -> None:
    with pytest.raises(ValueError, match=said):
        WarmupStableDecay(**wrong)


@pytest.mark.parametrize("kind", [Cosine, Linear, WarmupStableDecay, Constant])
def test_on_the_host_as_on_a_device(kind) -> None:
    schedule = kind(peak=0.1, warmup=5)
    for step in range(0, 40, 3):
        found = schedule.rate(np.float32(step), 40)
        assert not isinstance(found, jax.Array)
        assert float(found) == pytest.approx(float(schedule.rate(jnp.int32(step), 40)), rel=1e-6)
