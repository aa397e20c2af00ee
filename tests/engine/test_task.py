from __future__ import annotations

import jobs
import pytest

from barrow.engine import Task


def test_the_key_is_everything_the_output_depends_on() -> None:
    task = Task("a", jobs.copy_upper, 1, settings={"x": 1, "y": [2]}, inputs=("abc",), files=("f",))
    same = Task("b", jobs.copy_upper, 1, settings={"y": [2], "x": 1}, inputs=("abc",), files=("g",))
    assert task.key == same.key, "where files lie and what people call it do not matter"
    others = [
        Task("a", jobs.copy_upper, 2, settings={"x": 1, "y": [2]}, inputs=("abc",)),
        Task("a", jobs.spin, 1, settings={"x": 1, "y": [2]}, inputs=("abc",)),
        Task("a", jobs.copy_upper, 1, settings={"x": 2, "y": [2]}, inputs=("abc",)),
        Task("a", jobs.copy_upper, 1, settings={"x": 1, "y": [2]}, inputs=("abd",)),
    ]
    assert len({task.key, *(other.key for other in others)}) == 5


def test_settings_are_json() -> None:
    with pytest.raises(TypeError):
        _ = Task("a", jobs.spin, 1, settings={"x": object()}).key
    with pytest.raises(ValueError, match="JSON"):
        _ = Task("a", jobs.spin, 1, settings={"x": float("nan")}).key
