"""Advice with the number that is its reason (DEEPSPEED-3)."""

from __future__ import annotations

from typing import Any

import pytest

from barrow.train.profile.advice import advise


def report(**changes: Any) -> dict[str, Any]:
    split = {"compute": 0.9, "communication": 0.04, "input": 0.02, "host": 0.04}
    made: dict[str, Any] = {
        "step_seconds": 1.0,
        "precision": "bf16",
        "untraced_step_seconds": 1.0,
        "split": split | changes.pop("split", {}),
        "modules": [],
        "speed": {"share": 0.5},
        "flops": {"counted": 100, "model": 98},
        "memory": {"peak": 70, "limit": 100},
    }
    return made | changes


def test_nothing_to_change() -> None:
    assert advise(report()) == [
        "90% of the step computes, and no other part is large: nothing to change."
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"split": {"input": 0.31}}, "31% of the step waits for batches: raise prefetch"),
        ({"split": {"host": 0.2}}, "20% of the step waits for the host"),
        ({"split": {"communication": 0.25}}, "25% of the step is communication"),
        ({"modules": [{"part": "update", "share": 0.4}]}, "40% of the operations' time"),
        ({"speed": {"share": 0.12}}, "the devices reach 12% of the FLOP/s"),
        (
            {"speed": {"share": 0.12}, "precision": "fp32"},
            "the devices reach 12% of the FLOP/s they",
        ),
        ({"flops": {"counted": 133, "model": 100}}, "25% of the operations are beyond"),
        ({"memory": {"peak": 97, "limit": 100}}, "97% of a device's memory is in use"),
        ({"memory": {"peak": 20, "limit": 100}}, "only 20% of a device's memory"),
        ({"untraced_step_seconds": 0.8}, "tracing made the step 25% slower"),
    ],
)
def test_each_advice_has_its_number(changes: dict[str, Any], words: str) -> None:
    (found,) = advise(report(**changes))
    assert found.startswith(words)


def test_the_largest_part_comes_first() -> None:
    found = advise(report(split={"input": 0.2, "host": 0.3}))
    assert [one.split("%")[0] for one in found] == ["30", "20"]


def test_what_is_unknown_gives_no_advice() -> None:
    nothing = {"counted": None, "model": 100}
    unknown = report(speed={"share": None}, flops=nothing, memory={"peak": None, "limit": None})
    assert advise(unknown) == advise(report())
