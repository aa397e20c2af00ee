"""A large file is many tasks, and the corpus is the same (PILE-1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barrow.corpus import Domain, PlainText, Recipe, Records, build
from barrow.corpus.build import split
from barrow.corpus.build import stages as all_stages
from barrow.engine import Engine, Progress


def test_the_corpus_is_that_of_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: object
) -> None:
    raw = tmp_path / "raw"
    (raw / "letters").mkdir(parents=True)
    (raw / "texts").mkdir()
    lines = [json.dumps({"text": f"letter number {n}, " * 9}) for n in range(100)]
    lines[7] = "broken"
    for name, theirs in (("a", lines[:1]), ("b", lines[1:]), ("c", lines[:2])):
        (raw / "letters" / f"{name}.jsonl").write_text("\n".join(theirs))
    (raw / "texts" / "large.txt").write_text("One large text. " * 999)
    recipe = Recipe("r", {"letters": Domain("L", Records()), "texts": Domain("T", PlainText())})
    manifests, labels = [], []
    for k, target in enumerate((split.SPAN_BYTES, 2_000)):

        def split_files(*given: object, target: int = target) -> object:
            return split.split_files(*given, target=target)  # type: ignore[arg-type]

        monkeypatch.setattr(all_stages, "split_files", split_files)
        plans: list[str] = []
        labels.append(plans)
        progress = Progress(lambda what, total, plans=plans: plans.append(what))  # type: ignore[misc]
        out = tmp_path / f"out{k}"
        engine = Engine(num_workers=0)
        manifests.append(build(recipe, root=raw, out=out, engine=engine, progress=progress))
    assert manifests[0] == manifests[1]
    assert manifests[1]["reading"]["letters"]["files"] == 3
    assert made.digests(tmp_path / "out0") == made.digests(tmp_path / "out1")  # type: ignore[attr-defined]
    assert [("Splitting" in plans) for plans in labels] == [False, True]
    (spans,) = (tmp_path / "out1" / ".work").rglob("spans.json")
    assert 5 < len(json.loads(spans.read_text())) < 20
