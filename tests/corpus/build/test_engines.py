"""Builds in the calling process, on others and on Ray (PILE-1, BEYOND-7)."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import barrow
from barrow import config
from barrow.corpus import Domain, Recipe, Records, build
from barrow.corpus.dedup.settings import Deduplication, Lines, Passages
from barrow.corpus.mixture import Splits
from barrow.corpus.recipe import Decontamination
from barrow.engine import Engine, Task
from barrow.engine.processes import ProcessWorkers
from barrow.engine.ray_workers import RayWorkers


@pytest.fixture(scope="module")
def cluster() -> Iterator[Engine]:
    """One cluster for all: to start one takes seconds."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield Engine("ray", 2)
    ray.shutdown()


def words(rng: random.Random, number: int) -> str:
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(number))


def test_the_same_bytes_on_every_engine(tmp_path: Path, cluster: Engine) -> None:
    """With every stage; copies, near-copies, passages, lines, a page twice and a leak are there."""
    rng = random.Random(8)
    passage, leak = words(rng, 60), words(rng, 30)
    texts = [f"{words(rng, 150)}. {passage}.\n{words(rng, 150)}" for _ in range(12)]
    texts += [words(rng, 200) for _ in range(60)]
    texts += [texts[20].replace(" ", "\n"), f"{texts[30]} and more", f"{words(rng, 50)} {leak}"]
    texts[40:44] = [f"{text}\nAbout us\nContact" for text in texts[40:44]]
    urls = {texts[50]: "http://example.org/a", texts[51]: "https://www.example.org/a/"}
    (tmp_path / "raw").mkdir()
    for k in range(2):
        rows = [{"text": text, "meta": {"url": urls.get(text, "")}} for text in texts[k::2]]
        lines = [json.dumps(row) + "\n" for row in rows]
        (tmp_path / "raw" / f"{k}.jsonl").write_text("".join(lines))
    (tmp_path / "quiz.txt").write_text(leak)
    recipe = Recipe(
        "test",
        {".": Domain("A", Records())},
        deduplication=Deduplication(
            budget=None, passages=Passages(min_words=30), lines=Lines(span=2), url="newest"
        ),
        splits=Splits(validation=0.1, test=0.1),
        decontamination=Decontamination((str(tmp_path / "quiz.txt"),)),
        shard_size=20_000,
    )
    found = []
    for k, engine in enumerate([Engine(num_workers=0), Engine(num_workers=2), cluster]):
        out = tmp_path / f"out{k}"
        build(recipe, root=tmp_path / "raw", out=out, engine=engine)
        found.append(
            {
                str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(out.rglob("*"))
                if path.is_file() and ".work" not in path.parts and path.stem != "times"
            }
        )
    assert found[0] == found[1] == found[2]
    assert any("test/" in name for name in found[0])
    reasons = {document.meta["reason"] for document in barrow.archive.open(out / "rejects")}
    repeated = {"repeated-passage", "repeated-lines"}
    assert reasons == {"duplicate", "near-duplicate", "same-url", "contaminated"} | repeated


# A filter that is written in the recipe file.
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Engine
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
    assert kept(edited, cluster) == ["a road", "a stone on a road"]
    assert done == {"corpus.read", *AFTER_READING}, "whose texts were removed"
