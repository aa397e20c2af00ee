"""What a build leaves on the disk: the corpus, and of its work no text (PILE-5, BEYOND-3)."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.killed import killed_at, moments

from barrow.corpus import Length, Recipe, RedactPii, build
from barrow.corpus.dedup.settings import Deduplication, Passages
from barrow.corpus.recipe import Decontamination
from barrow.corpus.verify import verify_corpus
from barrow.engine import Engine, Stages
from barrow.errors import BudgetExceeded

INLINE = Engine(num_workers=0)


@pytest.fixture
def recipe(made: Any, tmp_path: Path) -> Recipe:
    """Every stage has something to do."""
    records = made.usual_records()
    shared = made.sentence("shared", 60)
    for n in (8, 9):
        records["notes"][n]["text"] += f" {shared} mail to one{n}@example.com"
    records["notes"][10]["text"] = records["notes"][11]["text"] + " nearly"
    made.write_raw(tmp_path / "raw", records)
    (tmp_path / "set.jsonl").write_text(json.dumps({"text": made.sentence("note 1", 20)}))
    base: Recipe = made.recipe(epochs=1.5)
    return dataclasses.replace(
        base,
        domains={
            name: dataclasses.replace(domain, filters=(RedactPii(), Length(50)))
            for name, domain in base.domains.items()
        },
        decontamination=Decontamination((str(tmp_path / "set.jsonl"),)),
        deduplication=Deduplication(budget=None, passages=Passages(min_words=20, min_rest=20)),
    )


def longer(recipe: Recipe) -> Recipe:
    """With another filter."""
    domains = {
        name: dataclasses.replace(domain, filters=(RedactPii(), Length(240)))
        for name, domain in recipe.domains.items()
    }
    return dataclasses.replace(recipe, domains=domains)


def test_texts_between_stages_go(
    recipe: Recipe, made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, raw = tmp_path / "out", tmp_path / "raw"
    report = build(recipe, root=raw, out=out, engine=INLINE)
    notes = report["stages"]["Notes"]
    assert notes["deduplicate"]["rejects"].keys() == {"duplicate", "near-duplicate"}
    assert notes["deduplicate"]["passages"]["passages"] == 1
    assert notes["filter"]["rejects"] == {"contaminated": 1}
    linked = {path.stat().st_ino for path in out.rglob("*") if ".work" not in path.parts}
    words = [made.sentence(f"letter {n}", 4).encode() for n in range(30)]
    for path, content in made.contents(out / ".work"):
        if path.stat().st_ino not in linked:
            assert not any(text in content for text in words), path
            assert path.suffix != ".zst"

    monkeypatch.setattr(Engine, "workers", lambda *_: pytest.fail("work was done"))
    assert build(recipe, root=raw, out=out, engine=INLINE) == report
    monkeypatch.undo()

    changed = build(longer(recipe), root=raw, out=out, engine=INLINE)
    assert changed == build(longer(recipe), root=raw, out=tmp_path / "fresh", engine=INLINE)
    assert made.digests(out) == made.digests(tmp_path / "fresh")
    assert verify_corpus(out, deep=True).problems == []


def test_a_budget_shows_samples_whose_texts_are_gone(recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    assert recipe.deduplication is not None
    strict = dataclasses.replace(recipe.deduplication, budget=0.01)
    with pytest.raises(BudgetExceeded, match=r"is 1\.000 like .*: letter 3 begins"):
        build(
            dataclasses.replace(recipe, deduplication=strict),
            root=tmp_path / "raw",
            out=tmp_path / "out",
            engine=INLINE,
        )


def test_killed_while_texts_are_removed(
    recipe: Recipe, made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, whole = tmp_path / "raw", tmp_path / "whole"
    monkeypatch.setattr(Stages, "clean", lambda _: None)
    build(recipe, root=raw, out=whole, engine=INLINE)
    monkeypatch.undo()
    build(longer(recipe), root=raw, out=tmp_path / "fresh", engine=INLINE)
    shutil.copytree(whole, tmp_path / "clean")
    steps = moments(lambda: build(recipe, root=raw, out=tmp_path / "clean", engine=INLINE))
    for step in steps[-7::2]:  # the last kinds of change are removals, each of another file
        out = tmp_path / f"killed{step}"
        shutil.copytree(whole, out)
        assert killed_at(step, lambda out=out: build(recipe, root=raw, out=out, engine=INLINE))
        numbers = [len(list((c / ".work").rglob("*.*"))) for c in (tmp_path / "clean", out, whole)]
        assert sorted(set(numbers)) == numbers, "some are removed, some are not"
        assert verify_corpus(out).problems == []
        build(longer(recipe), root=raw, out=out, engine=INLINE)
        assert made.digests(out) == made.digests(tmp_path / "fresh")
        assert not list((out / ".work").rglob("documents.jsonl.zst"))
