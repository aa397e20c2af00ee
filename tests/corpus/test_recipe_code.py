"""A filter that is written in the recipe file, in every kind of worker (PILE-1)."""

from __future__ import annotations

from pathlib import Path

import pytest

import barrow
from barrow import config
from barrow.corpus import build
from barrow.engine import Engine, Task
from barrow.engine.processes import ProcessWorkers
from barrow.engine.ray_workers import RayWorkers

CODE = """
from dataclasses import dataclass

import numpy as np

from barrow.corpus import Decisions, Domain, Filter, PlainText, Recipe

WANTED = "stone"


@dataclass(frozen=True)
class Mentions(Filter):
    reasons = ("says-nothing-of-it",)

    def decide(self, texts):
        missing = np.array([WANTED not in texts.text_of(i) for i in range(len(texts))])
        decisions = Decisions.keep_all(len(texts))
        decisions.reject(1, missing, missing)
        return decisions

    def cause(self, reason, value):
        return f"does not mention {WANTED}"


def recipe():
    return Recipe("mine", {".": Domain("Mine", PlainText(), filters=(Mentions(),))})
"""

AFTER_READING = {f"corpus.{name}" for name in ("examine", "plan", "scatter", "gather", "assemble")}


def test_an_edit_redoes_what_depends_on_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: set[str] = set()
    for workers in (ProcessWorkers, RayWorkers):

        def start(self: object, task: Task[object], original: object = workers.start) -> None:
            done.add(task.stage.name)
            original(self, task)  # type: ignore[operator]

        monkeypatch.setattr(workers, "start", start)
    (tmp_path / "raw").mkdir()
    for text in ("a stone", "a road", "a stone on a road"):
        (tmp_path / "raw" / f"{text}.txt").write_text(text)
    mine = tmp_path / "mine.py"

    def kept(code: str, engine: Engine) -> list[str]:
        done.clear()
        mine.write_text(code)
        recipe = config.import_file(mine).recipe()
        build(recipe, root=tmp_path / "raw", out=tmp_path / "out", engine=engine)
        return sorted(document.text for document in barrow.archive.open(tmp_path / "out"))

    processes = Engine(num_workers=2)
    assert kept(CODE, processes) == ["a stone", "a stone on a road"]
    assert done == {"corpus.read", *AFTER_READING}
    assert kept(f"{CODE}\n# a comment\n", processes) == ["a stone", "a stone on a road"]
    assert done == set(), "a build that is resumed has nothing to do"
    edited = CODE.replace('"stone"', '"road"')
    assert kept(edited, Engine("ray", 2)) == ["a road", "a stone on a road"]
    assert done == AFTER_READING
