from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import barrow.archive
from barrow.corpus import Domain, PlainText, Recipe, build
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.mixture import Splits
from barrow.corpus.report.write import read_build, write_papers
from barrow.engine import Engine
from barrow.errors import ConfigError, NotFound

INLINE = Engine(num_workers=0)


def test_a_build_comes_with_its_papers(
    root: Path, recipe: Recipe, tmp_path: Path, read_page: Callable
) -> None:
    """PILE-12, PILE-1: they are there, true, and the same wherever the raw files lie."""
    copies = Deduplication(near=False, budget=None)
    recipe = replace(recipe, splits=Splits(0.1, 0.2), deduplication=copies)
    (root / "notes" / "copy.txt").write_text((root / "notes" / "03.txt").read_text())
    (root / "notes" / "<script>alert(1)<.txt").write_bytes(b"\x00<script>\xff")
    out = tmp_path / "out"
    told = build(recipe, root=root, out=out, engine=INLINE)
    page = read_page((out / "report.html").read_text())
    (rows,) = [
        t for title, t in page.tables.items() if title.startswith("Text, share of the text, d")
    ]
    for row in rows[1:-1]:
        splits = [split["domains"].get(row[0], {}) for split in told["splits"].values()]
        assert int(row[1]) == sum(split.get("bytes", 0) for split in splits)
        assert int(row[3]) == sum(split.get("documents", 0) for split in splits)
    assert int(rows[-1][3]) == sum(
        len(barrow.archive.open(p)) for p in (out, out / "validation", out / "test")
    )
    assert "letters/empty.txt" in page.text
    assert "duplicate" in page.text
    sheet = (out / "datasheet.md").read_text()
    for split in told["splits"].values():
        for shard in split["shards"]:
            assert shard["sha256"] in sheet
            assert shard["sha256"] in page.text
    digest = hashlib.sha256((out / "recipe.json").read_bytes()).hexdigest()
    assert digest in sheet
    assert digest in page.text
    assert str(tmp_path) not in sheet + page.text

    moved = tmp_path / "moved"
    shutil.copytree(root, moved, symlinks=True)
    build(recipe, root=moved, out=tmp_path / "again", engine=INLINE)
    for name in ("datasheet.md", "report.html"):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()


def test_what_an_owner_wrote_outlives_a_build(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(recipe, root=root, out=out, engine=INLINE)
    sheet = out / "datasheet.md"
    start, end = "<!-- owner: motivation -->\n", "<!-- /owner: motivation -->"
    text = sheet.read_text()
    words = "\nWe wanted *letters*. Größe: 3 < 4.\n\n"
    sheet.write_text(text.partition(start)[0] + start + words + end + text.partition(end)[2])
    (root / "notes" / "03.txt").unlink()
    build(recipe, root=root, out=out, engine=INLINE)
    new = sheet.read_text()
    assert start + words + end in new
    assert "41 documents" in new
    assert "42 documents" not in new

    sheet.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        build(recipe, root=root, out=out, engine=INLINE)


def test_papers_are_not_written_twice(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, root=root, out=tmp_path / "out", engine=INLINE)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.*")}
    write_papers(tmp_path / "out", *read_build(tmp_path / "out"))
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.*")} == before


def test_a_corpus_of_which_nothing_is_left(tmp_path: Path, read_page: Callable) -> None:
    (tmp_path / "raw" / "a").mkdir(parents=True)
    (tmp_path / "raw" / "a" / "x.txt").write_text("  ")
    recipe = Recipe("nothing", {"a": Domain("A", PlainText())})
    build(recipe, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    page = read_page((tmp_path / "out" / "report.html").read_text())
    assert "No document is left." in page.text
    assert "Files were there, but no document is left, of A." in page.text


def test_what_is_no_build(tmp_path: Path, root: Path, recipe: Recipe) -> None:
    with pytest.raises(NotFound, match=r"no manifest\.json; was it made by barrow build"):
        read_build(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(NotFound, match=r"recipe\.json"):
        read_build(tmp_path)
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(ConfigError, match="is not JSON"):
        read_build(tmp_path)
    for wrong in ([], {"recipe": "x"}):
        (tmp_path / "manifest.json").write_text(json.dumps(wrong))
        with pytest.raises(ConfigError, match="not a manifest of this version"):
            read_build(tmp_path)
