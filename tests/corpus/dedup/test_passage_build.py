"""Repeated passages in builds: the same bytes whoever works, and everything accounted for."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import barrow
from barrow import config
from barrow.corpus import Domain, Recipe, Records, build
from barrow.corpus.dedup.settings import Deduplication, Passages
from barrow.corpus.verify import verify_corpus
from barrow.engine import Engine
from barrow.errors import ConfigError

INLINE = Engine(num_workers=0)
CUTTING = Deduplication(budget=None, passages=Passages(min_words=30))
RECIPE = Recipe("test", {".": Domain("", Records())}, shard_size=1 << 20, deduplication=CUTTING)


def words(rng: random.Random, number: int) -> str:
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(number))


def corpus(rng: random.Random) -> tuple[list[str], list[str]]:
    """Documents that share passages, with copies and near-copies of some; and the passages."""
    passages = [words(rng, rng.randint(30, 90)) for _ in range(6)]
    texts = [
        f"{words(rng, rng.randint(60, 200))}. {rng.choice(passages)}.\n{words(rng, 150)}"
        for _ in range(40)
    ]
    texts += [text.replace(". ", ".\n") for text in texts[:4]]
    texts += [f"{text} one more word" for text in texts[4:8]]
    texts += [f"{passages[0]} ..", f"{words(rng, 80)} {passages[1]} {words(rng, 9)} {passages[1]}"]
    return texts, passages


def write(root: Path, texts: list[str], name: str = "a.jsonl") -> None:
    root.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"text": text, "meta": {"pile_set_name": "AB"[len(text) % 2]}}) for text in texts
    ]
    (root / name).write_text("\n".join(lines) + "\n")


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".work" not in path.parts and path.stem != "times"
    }


def words_kept(out: Path) -> list[list[str]]:
    return sorted(document.text.split() for document in barrow.archive.open(out))


def test_every_cut_is_counted_and_can_be_looked_at(tmp_path: Path) -> None:
    texts, passages = corpus(random.Random(0))
    write(tmp_path / "raw", texts)
    told = build(RECIPE, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    assert verify_corpus(tmp_path / "out", deep=True).ok
    kept = {d.meta["id"]: d for d in barrow.archive.open(tmp_path / "out")}
    text = "\n".join(d.text for d in kept.values())
    assert [text.count(passage) for passage in passages] == [1] * len(passages)
    rejects = list(barrow.archive.open(tmp_path / "out" / "rejects"))
    cuts = [d for d in rejects if d.meta["reason"] == "repeated-passage"]
    assert len(rejects) - len(cuts) == 8, "copies and near-copies go first"
    for record in cuts:
        assert record.meta["stage"] == "deduplicate"
        (passage,) = [p for p in passages if p in record.text]
        assert passage in kept[record.meta["kept_in"][0]].text
        assert (record.meta["id"] in kept) != record.meta["whole"]
    stages: list[dict[str, Any]] = [stage["deduplicate"] for stage in told["stages"].values()]
    assert sum(stage["passages"]["passages"] for stage in stages) == len(cuts)
    assert sum(stage["rejects"].get("repeated-passage", 0) for stage in stages) == 1
    assert sum(stage["documents"] for stage in stages) == len(kept) == 41
    assert sum(stage["bytes"] for stage in stages) == sum(
        len(d.text.encode()) for d in kept.values()
    )
    changed = {d.meta["id"] for d in cuts if not d.meta["whole"]}
    assert sum(stage["passages"]["documents"] for stage in stages) == len(changed)
    originals = set(texts)
    for name, document in kept.items():
        assert (document.text in originals) == (name not in changed)
        assert document.meta["decisions"]["deduplicate"] == "keep"


def test_without_the_option_nothing_is_cut(tmp_path: Path) -> None:
    texts, _ = corpus(random.Random(1))
    write(tmp_path / "raw", texts)
    plain = replace(RECIPE, deduplication=Deduplication(budget=None))
    told = build(plain, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    assert {d.text for d in barrow.archive.open(tmp_path / "out")} <= set(texts)
    assert told["stages"]["A"]["deduplicate"]["passages"]["passages"] == 0


@pytest.mark.parametrize("keep", ["longest", "domain"])
def test_order_files_and_parts_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: Any
) -> None:
    """PILE-12: what is cut, and where, depends on the documents alone."""
    rng = random.Random(2)
    texts, _ = corpus(rng)
    recipe = replace(RECIPE, deduplication=replace(CUTTING, keep=keep, prefer=("B",)))
    write(tmp_path / "one", texts)
    build(recipe, root=tmp_path / "one", out=tmp_path / "out1", engine=INLINE)
    rng.shuffle(texts)
    for k in range(4):
        write(tmp_path / "two", texts[k::4], f"{k}.jsonl")
    build(recipe, root=tmp_path / "two", out=tmp_path / "out2", engine=INLINE)
    assert words_kept(tmp_path / "out1") == words_kept(tmp_path / "out2")


def test_a_second_build_does_nothing_and_a_later_dump_is_compared(tmp_path: Path) -> None:
    rng = random.Random(4)
    texts, passages = corpus(rng)
    write(tmp_path / "raw", texts)
    build(RECIPE, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    before = digests(tmp_path / "out")
    build(RECIPE, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    assert digests(tmp_path / "out") == before
    beginning, end = words(rng, 300), words(rng, 300)
    write(tmp_path / "later", [f"{beginning} {passages[2]} {end}"])
    against = replace(RECIPE, deduplication=replace(CUTTING, against=(str(tmp_path / "out"),)))
    build(against, root=tmp_path / "later", out=tmp_path / "new", engine=INLINE)
    (document,) = barrow.archive.open(tmp_path / "new")
    assert document.text == f"{beginning}\n\n{end}"


def test_settings(tmp_path: Path) -> None:
    assert config.from_json(Recipe, config.to_json(RECIPE)) == RECIPE
    with pytest.raises(ConfigError, match="min_words must be ≥ 2"):
        Passages(min_words=1)
    with pytest.raises(ConfigError, match="min_rest must be ≥ 1"):
        Passages(min_rest=0)
