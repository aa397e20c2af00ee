"""The dynamic scale of float16 (FLAX-4, DEEPSPEED-7)."""

from __future__ import annotations

import random

import jax.numpy as jnp
import numpy as np
import pytest

from barrow.train import LossScale, ScaleSettings


class Plain:
    """The rule in plain Python: ×2 after so many finite steps, ×½ on overflows in a row."""

    def __init__(self, settings: ScaleSettings) -> None:
        self.settings, self.scale, self.run, self.bad = settings, settings.start, 0, 0

    def after(self, finite: bool) -> float:
        if finite:
            self.run, self.bad = self.run + 1, 0
            if self.run == self.settings.growth_every:
                self.scale, self.run = self.scale * 2, 0
        else:
            self.run, self.bad = 0, self.bad + 1
            if self.bad >= self.settings.hysteresis:
                self.scale = max(self.scale / 2, self.settings.floor)
        return self.scale


@pytest.mark.parametrize("hysteresis", [1, 2])
@pytest.mark.parametrize("growth_every", [1, 3, 20])
def test_as_the_plain_rule_step_by_step(hysteresis, growth_every) -> None:
    settings = ScaleSettings(start=64, growth_every=growth_every, hysteresis=hysteresis, floor=4)
    plain, ours = Plain(settings), LossScale.start(settings)
    rng = random.Random(growth_every)
    seen = set()
    for _ in range(150):
        finite = rng.random() < 0.7
        ours = ours.after(jnp.bool_(finite), settings)
        assert float(ours.scale) == plain.after(finite)
        seen.add(plain.scale)
    assert len(seen) > 2


def test_the_usual_numbers() -> None:
    settings = ScaleSettings()
    scale = LossScale.start(settings)
    assert float(scale.scale) == 65536
    scale = LossScale(scale.scale, jnp.int32(1998), scale.left)
    scale = scale.after(jnp.bool_(True), settings)
    assert float(scale.scale) == 65536
    assert float(scale.after(jnp.bool_(True), settings).scale) == 131072
    assert float(scale.after(jnp.bool_(False), settings).scale) == 32768


def test_it_never_falls_below_the_smallest_normal_number() -> None:
    settings = ScaleSettings()
    scale = LossScale(jnp.float32(settings.floor), jnp.int32(0), jnp.int32(1))
    assert float(scale.after(jnp.bool_(False), settings).scale) == np.finfo(np.float32).tiny


def test_two_overflows_that_are_not_in_a_row_do_not_halve() -> None:
    settings = ScaleSettings(hysteresis=2)
    scale = LossScale.start(settings)
    for finite in (False, True, False):
        scale = scale.after(jnp.bool_(finite), settings)
    assert float(scale.scale) == 65536
    assert float(scale.after(jnp.bool_(False), settings).scale) == 32768


def test_one_overflow_of_a_row_is_let_pass_and_each_further_one_halves() -> None:
    """As in DeepSpeed, where a halving does not give the patience back."""
    settings = ScaleSettings(hysteresis=2)
    scale, seen = LossScale.start(settings), []
    for finite in (False, False, False, False, True, False, False):
        scale = scale.after(jnp.bool_(finite), settings)
        seen.append(float(scale.scale))
    assert seen == [65536, 32768, 16384, 8192, 8192, 8192, 4096]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"start": 0.0}, "start must be ≥ floor"),
        ({"start": float("nan")}, "start must be ≥ floor"),
        ({"floor": 0.0}, "start must be ≥ floor"),
        ({"growth_every": 0}, "≥ 1, got 0 and 1"),
        ({"hysteresis": 0}, "≥ 1, got 2000 and 0"),
    ],
)
def test_bad_settings(wrong, said) -> None:
    with pytest.raises(ValueError, match=said):
        ScaleSettings(**wrong)
