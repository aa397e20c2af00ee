"""Settings of the order: saved and read back; every mistake answered."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from barrow import config
from barrow.errors import ConfigError
from barrow.stream.order.schedule import Mixture, Phase, Schedule, constant, growing

HALVES = Mixture(weights={"a": 0.5, "b": 0.5})


@pytest.mark.parametrize(
    "mixture",
    [
        HALVES,
        Mixture(epochs={"a": 1.5, "b": 0}, max_epochs={"a": 2.0}),
        Mixture(tokens={"a": 10**12}, max_epochs=4.0),
    ],
)
def test_a_schedule_is_saved_as_json(mixture: Mixture) -> None:
    schedule = Schedule((Phase(0, 128, 8, mixture), Phase(100, 256, 4, HALVES)), chunk=512)
    assert config.from_json(Schedule, config.to_json(schedule)) == schedule


def test_the_chunk_is_the_longest_row_and_is_saved() -> None:
    schedule = Schedule((Phase(0, 128, 8, HALVES), Phase(100, 256, 4, HALVES)))
    assert schedule.chunk == 256
    assert config.from_json(Schedule, config.to_json(schedule)).chunk == 256
    assert constant(seq_len=64, batch=2, mixture=HALVES).chunk == 64
    assert constant(seq_len=64, batch=2, mixture=HALVES, chunk=100).chunk == 100


def test_a_phase_can_be_added() -> None:
    first = constant(seq_len=64, batch=2, mixture=HALVES)
    longer = first.then(Phase(10, 32, 4, HALVES))
    assert [phase.start for phase in longer.phases] == [0, 10]
    assert longer.chunk == 64


def test_a_longer_row_than_the_chunk_is_refused() -> None:
    schedule = constant(seq_len=64, batch=2, mixture=HALVES)
    with pytest.raises(ConfigError, match="seq_len 128, .* chunks of 64 .* chunk=128"):
        schedule.then(Phase(10, 128, 4, HALVES))


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ((), "at least one phase"),
        ((Phase(5, 8, 1, HALVES),), "first phase must start at step 0, got 5"),
        ((Phase(0, 8, 1, HALVES), Phase(0, 8, 1, HALVES)), "got 0 after 0"),
        (
            (Phase(0, 8, 1, HALVES), Phase(9, 8, 1, HALVES), Phase(3, 8, 1, HALVES)),
            "start at increasing steps, got 3 after 9",
        ),
    ],
)
def test_phases_out_of_order(phases: tuple[Phase, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Schedule(phases)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": -1}, "≥ 0, got -1"),
        ({"seq_len": 0}, "seq_len: expected 1 or more tokens, got 0"),
        ({"batch": 0}, "batch: expected 1 to 4,194,304 rows, got 0"),
        ({"batch": 1 << 23}, "batch: expected 1 to"),
    ],
)
def test_phases_that_cannot_be(change: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(Phase(0, 8, 1, HALVES), **change)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "exactly one of weights, epochs and tokens, got none"),
        ({"weights": {"a": 1}, "tokens": {"a": 1}}, "got weights and tokens"),
        ({"weights": {"a": -0.5, "b": 1}}, "weights.a: expected a number of 0 or more, got -0.5"),
        ({"weights": {"a": math.nan}}, "weights.a: .* got nan"),
        ({"epochs": {"a": math.inf}}, "epochs.a: .* got inf"),
        ({"weights": {"a": 0.0}}, "weights: expected one above 0"),
        ({"tokens": {}}, "tokens: expected one above 0"),
        ({"weights": {"a": 1}, "max_epochs": 0.0}, "max_epochs: expected a number above 0, got 0"),
        ({"weights": {"a": 1}, "max_epochs": {"a": -1}}, "max_epochs.a: expected .* got -1"),
        ({"weights": {"a": 1}, "max_epochs": math.nan}, "max_epochs: .* got nan"),
    ],
)
def test_mixtures_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Mixture(**fields)


def test_domains_are_checked_against_what_there_is() -> None:
    sizes = {"arxiv": 100, "github": 0}
    Mixture(weights={"arxiv": 1.0, "github": 0.0}).check(sizes)
    with pytest.raises(ConfigError, match="names 'arxive'; did you mean 'arxiv'"):
        Mixture(weights={"arxive": 1.0}).check(sizes)
    with pytest.raises(ConfigError, match="names 'q'; there are arxiv, github"):
        Mixture(weights={"arxiv": 1.0}, max_epochs={"q": 1.0}).check(sizes)
    with pytest.raises(ConfigError, match="weights of 0.5 for 'github', which has no tokens"):
        Mixture(weights={"arxiv": 1.0, "github": 0.5}).check(sizes)


def test_caps_for_all_and_for_one() -> None:
    assert Mixture(weights={"a": 1}, max_epochs=2.0).cap("a") == 2.0
    assert Mixture(weights={"a": 1, "b": 1}, max_epochs={"b": 3.0}).cap("a") is None
    assert Mixture(weights={"a": 1, "b": 1}, max_epochs={"b": 3.0}).cap("b") == 3.0
    assert HALVES.cap("a") is None


def test_rows_that_become_longer() -> None:
    """DEEPSPEED-14: a curriculum by sequence length."""
    schedule = growing(first=64, last=1024, steps=15_000, multiple=8, batch=4, mixture=HALVES)
    lengths = {phase.start: phase.seq_len for phase in schedule.phases}
    assert lengths[0] == 64
    assert schedule.phases[-1] == Phase(15_000, 1024, 4, HALVES)
    assert schedule.chunk == 1024
    # 64 + 960 · 10,000 / 15,000 = 704
    assert lengths[10_000] == 704
    assert len(lengths) == 1 + (1024 - 64) // 8
    root = growing(first=8, last=100, steps=100, multiple=16, batch=4, mixture=HALVES, power=0.5)
    found = [(phase.start, phase.seq_len) for phase in root.phases]
    assert found == [(0, 8), (1, 16), (7, 32), (19, 48), (38, 64), (62, 80), (92, 96), (100, 100)]
    for bad in ({"first": 0}, {"last": 7}, {"steps": 0}, {"multiple": 0}, {"power": 0.0}):
        given = {"first": 8, "last": 9, "steps": 3, "multiple": 1, "power": 1.0} | bad
        with pytest.raises(ConfigError, match=f"{next(iter(bad))}={next(iter(bad.values()))}"):
            growing(batch=1, mixture=HALVES, **given)
