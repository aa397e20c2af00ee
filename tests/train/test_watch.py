from __future__ import annotations

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import config
from barrow.train.watch import ENOUGH, MOST_OVERFLOWS, WINDOW, Watch

WELL = {"bad_tensor": None, "is_scaled": False, "factor": 3.0}


@given(st.integers(0, 2**32), st.sampled_from([0.1, 1.0, 10.0]))
def test_a_leap_is_above_the_median_of_the_last_hundred(seed: int, size: float) -> None:
    """Against the rule in plain words, over losses that fall and now and then jump."""
    rng = random.Random(seed)
    jumps = [1.0, 1.0, 1.0, 1.0, 1.5, 2.5, 3.0, 3.5, 9.0]
    losses = [size * (1 + 50 / (k + 10)) * rng.choice(jumps) for k in range(250)]
    watch, seen = Watch(), []
    for loss in losses:
        watch, reason = watch.after(loss, **WELL)
        last = seen[-WINDOW:]
        leapt = len(last) >= ENOUGH and loss > 3 * median(last) and loss > median(last) + 1
        assert (reason is not None) == leapt
        seen.append(loss)
    assert list(watch.losses) == seen[-WINDOW:]


def test_what_a_leap_is_called() -> None:
    watch = Watch((2.0,) * ENOUGH)
    _, reason = watch.after(6.5, **WELL)
    assert reason is not None
    assert "6.5000, more than 3 times 2.0000, the median of the 20 before it" in reason
    assert watch.after(6.5, **{**WELL, "factor": None})[1] is None
    assert Watch((0.1,) * ENOUGH).after(1.0, **WELL)[1] is None  # small losses jump
    assert Watch((2.0,) * (ENOUGH - 1)).after(60.0, **WELL)[1] is None


@pytest.mark.parametrize(
    ("loss", "tensor", "words"),
    [
        (
            float("nan"),
            "head/kernel",
            "the gradient of head/kernel is not finite (the loss is nan)",
        ),
        (1.0, "head/kernel", "the gradient of head/kernel is not finite (the loss is 1)"),
        (float("inf"), None, "the loss is inf"),
    ],
)
def test_not_finite(loss: float, tensor: str | None, words: str) -> None:
    before = Watch((1.0,), 2, 1)
    watch, reason = before.after(loss, bad_tensor=tensor, is_scaled=False, factor=None)
    assert (watch, reason) == (before, words)


def test_overflows_of_a_scaled_loss() -> None:
    scaled = {"bad_tensor": "embed/table", "is_scaled": True, "factor": 3.0}
    watch = Watch((1.0,))
    for number in range(1, MOST_OVERFLOWS):
        watch, reason = watch.after(float("inf"), **scaled)
        assert (reason, watch.overflows, watch.in_a_row) == (None, number, number)
    again, reason = watch.after(1.0, **{**scaled, "bad_tensor": None})
    assert (reason, again.overflows, again.in_a_row) == (None, MOST_OVERFLOWS - 1, 0)
    assert again.losses == (1.0, 1.0)
    _, reason = watch.after(float("inf"), **scaled)
    assert reason is not None
    assert "embed/table" in reason
    assert "50 times in a row" in reason


def test_it_is_saved_with_a_checkpoint() -> None:
    watch = Watch((1.5, 2.5), 3, 1)
    assert config.from_json(Watch, config.to_json(watch)) == watch
