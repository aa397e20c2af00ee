from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jobs
import pytest

import barrow.corpus
import barrow.tokens
from barrow.engine import File, Stage, Task
from barrow.errors import ConfigError


def upper(stage: Stage[Any, Any, Any] = jobs.COPY_UPPER, **changes: Any) -> Task[Any]:
    told = {"prefix": "x", "path": "f", "content": "abc", "label": "a"} | changes
    inputs = jobs.Inputs((File(told["path"], told["content"]),))
    return stage.task(told["label"], jobs.Upper(told["prefix"]), inputs)


def test_the_key_is_everything_the_output_depends_on() -> None:
    task = upper()
    assert upper(path="/elsewhere/g", label="b").key == task.key, "where and what people call it"
    others = [
        upper(replace(jobs.COPY_UPPER, version=2)),
        upper(replace(jobs.COPY_UPPER, name="other")),
        upper(prefix="y"),
        upper(content="abd"),
    ]
    assert len({task.key, *(other.key for other in others)}) == 5


def test_a_function_that_moves_changes_no_key() -> None:
    def moved(settings: jobs.Upper, inputs: jobs.Inputs, out: jobs.Result) -> None: ...

    assert upper(replace(jobs.COPY_UPPER, function=moved)).key == upper().key
    # Work that users have finished is found by this name.
    assert upper().key == "d8705b0dd829ff3bc8e15e19c0cd659a"


@dataclass(frozen=True)
class Pair:
    left: File
    right: tuple[File, ...] = ()
    maybe: File | None = None
    inner: jobs.Inputs | None = None


def test_inputs_are_named_and_may_be_nested() -> None:
    a, b = File("a", "A"), File("b", "B")
    many = [
        Pair(a, (b,)),
        Pair(b, (a,)),
        Pair(a, (b, b)),
        Pair(a, (), b),
        Pair(a, (), None, jobs.Inputs((b,))),
        Pair(a, (), None, jobs.Inputs()),
    ]
    keys = {Task("t", jobs.COPY_UPPER, jobs.Upper(), pair).key for pair in many}
    assert len(keys) == len(many)


def test_outputs_are_files_named_by_their_task(tmp_path: Path) -> None:
    assert jobs.Result(tmp_path, "abc").text == File(tmp_path / "result.txt", "abc/result.txt")


def test_settings_are_what_json_can_hold() -> None:
    with pytest.raises(ConfigError, match="cannot be a object"):
        _ = Task("a", jobs.SPIN, jobs.Spin(object())).key  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="JSON"):
        _ = Task("a", jobs.SPIN, jobs.Spin(1, float("nan"))).key


def test_no_two_stages_share_a_name() -> None:
    names = Counter[str]()
    for package in (barrow.corpus, barrow.tokens):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            home = importlib.import_module(module.name)
            found = [thing for thing in vars(home).values() if isinstance(thing, Stage)]
            names.update(thing.name for thing in found if thing.function.__module__ == module.name)
    assert len(names) > 15
    assert set(names.values()) == {1}
