"""Repeated lines in builds, alone and with URLs and passages; all of it is counted (PILE-12)."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.takedown_corpora import remove

import barrow
from barrow import config
from barrow.corpus import Domain, Recipe, Records, build
from barrow.corpus.dedup.settings import Deduplication, Lines, Passages
from barrow.corpus.report.write import read_build
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.trace import find_document
from barrow.corpus.verify import verify_corpus
from barrow.engine import Engine
from barrow.errors import ConfigError

INLINE = Engine(num_workers=0)
CUTTING = Deduplication(near=False, budget=None, lines=Lines(span=3))
RECIPE = Recipe("test", {".": Domain("A", Records())}, shard_size=1 << 20, deduplication=CUTTING)
FOOTER = "About us\nContact\nAll rights reserved."


def words(rng: random.Random, number: int) -> str:
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(number))


def write(root: Path, texts: list[str], name: str = "a.jsonl") -> Path:
    root.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"text": text, "meta": {"url": f"https://example.org/{k // 2}"}})
        for k, text in enumerate(texts)
    ]
    (root / name).write_text("\n".join(lines) + "\n")
    return root


def kept(out: Path) -> dict[str, str]:
    return {document.meta["id"]: document.text for document in barrow.archive.open(out)}


def test_three_lines_stay_once_and_everything_is_counted(tmp_path: Path) -> None:
    rng = random.Random(0)
    bodies = [words(rng, 20 + k) for k in range(8)]
    texts = [f"{body}\n\n{FOOTER}\n" for body in bodies] + [f"{FOOTER} ."]
    texts += [f"{FOOTER}\nshort"]
    root = write(tmp_path / "raw", texts)
    manifest = build(RECIPE, root=root, out=tmp_path / "out", engine=INLINE)
    assert verify_corpus(tmp_path / "out", deep=True).ok
    found = kept(tmp_path / "out")
    longest = max(texts, key=len)
    expected = {body for body in bodies if body not in longest} | {longest, texts[8]}
    assert set(found.values()) == expected, "what differs in a mark is another line"
    counts = manifest["stages"]["A"]["deduplicate"]
    lost = sum(map(len, texts)) - sum(map(len, found.values()))
    assert counts["lines"] == {"spans": 8, "units": 24, "bytes": lost, "documents": 7}
    assert counts["rejects"] == {"repeated-lines": 1}
    assert counts["passages"]["passages"] == 0
    (owner,) = [name for name, text in found.items() if text == longest]
    for record in barrow.archive.open(tmp_path / "out" / "rejects"):
        assert record.text == FOOTER
        assert record.meta["kept_in"] == [owner]
        first = record.meta["lines"][0]
        assert record.meta["cause"].startswith(f"3 lines from line {first} on stay in {owner}")
    sheet = (tmp_path / "out" / "datasheet.md").read_text()
    assert "repeated for 3 lines in a row or more is cut from all places but one" in sheet
    # A document is found as it was read, and a takedown of the owner leaves a valid corpus.
    assert find_document(str(tmp_path / "out"), owner).document.text == longest
    remove(tmp_path / "out", Rules(ids=(owner,)))
    assert verify_corpus(tmp_path / "out", deep=True).ok
    assert read_build(tmp_path / "out") is not None


def test_urls_lines_and_passages_in_one_build(tmp_path: Path) -> None:
    rng = random.Random(1)
    passage = words(rng, 40)
    texts = [f"{words(rng, 30)} {passage} {words(rng, 5)}\n{FOOTER}" for _ in range(20)]
    recipe = replace(
        RECIPE,
        deduplication=replace(CUTTING, url="longest", passages=Passages(min_words=30)),
    )
    root = write(tmp_path / "one", texts)
    manifest = build(recipe, root=root, out=tmp_path / "out", engine=INLINE)
    assert verify_corpus(tmp_path / "out", deep=True).ok
    counts = manifest["stages"]["A"]["deduplicate"]
    assert counts["rejects"] == {"same-url": 10}
    assert (counts["lines"]["spans"], counts["passages"]["passages"]) == (9, 9)
    found = kept(tmp_path / "out")
    assert sum(passage in text for text in found.values()) == 1
    assert sum(FOOTER in text for text in found.values()) == 1
    assert counts["bytes"] == sum(map(len, found.values()))
    assert config.from_json(Recipe, config.to_json(recipe)) == recipe


@pytest.mark.parametrize("lines", [Lines(span=3), Lines("paragraph", span=1), Lines("sentence")])
def test_order_files_and_workers_make_no_difference(tmp_path: Path, lines: Lines) -> None:
    rng = random.Random(2)
    some = [words(rng, 4) + "." for _ in range(2)]
    texts = ["\n\n".join([*rng.choices(some, k=3), words(rng, 40)]) for _ in range(20)]
    recipe = replace(RECIPE, deduplication=replace(CUTTING, lines=lines))
    build(recipe, root=write(tmp_path / "one", texts), out=tmp_path / "out1", engine=INLINE)
    rng.shuffle(texts)
    for k in range(3):
        write(tmp_path / "two", texts[k::3], f"{k}.jsonl")
    build(recipe, root=tmp_path / "two", out=tmp_path / "out2", engine=INLINE)
    found = [sorted(kept(tmp_path / out).values()) for out in ("out1", "out2")]
    assert found[0] == found[1]
    assert any(text not in texts for text in found[0])


def test_settings(tmp_path: Path) -> None:
    assert config.from_json(Recipe, config.to_json(RECIPE)) == RECIPE
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"unit": "word"}, "unit must be one of sentence, line, paragraph, got 'word'"),
        ({"span": 0}, "span must be ≥ 1, got 0"),
        ({"min_bytes": 0}, "min_bytes must be ≥ 1, got 0"),
        ({"min_rest": 0}, "min_rest must be ≥ 1, got 0"),
        ({"keep": "all"}, "keep must be 'one' or 'none', got 'all'"),
    ]
    for options, message in wrong:
        with pytest.raises(ConfigError, match=message):
            Lines(**options)
    with pytest.raises(ConfigError, match="keep must be 'one' or 'none', got 'all'"):
        Passages(keep="all")  # type: ignore[arg-type]
