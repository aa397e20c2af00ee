from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from barrow import config
from barrow.corpus import Recipe, build
from barrow.corpus.diff import compare_builds
from barrow.engine import Engine
from barrow.errors import NotFound

INLINE = Engine(num_workers=0)


def test_what_changed(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, root=root, out=tmp_path / "a", engine=INLINE)
    (root / "notes" / "00.txt").write_text("changed")
    (root / "notes" / "new.txt").write_text("added")
    (root / "letters" / "empty2.txt").touch()
    other = config.override(recipe, ["domains.letters.epochs=2"])
    build(other, root=root, out=tmp_path / "b", engine=INLINE)
    result = compare_builds(tmp_path / "a", tmp_path / "b")
    assert result["recipe"] == ["domains.letters.epochs: None → 2.0"]
    assert result["domains"] == {
        "Letters": {"kept": 30, "added": 0, "removed": 0, "rejects": {"empty": 1}},
        "Notes": {"kept": 11, "added": 2, "removed": 1, "rejects": {}},
    }


def test_the_same(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, root=root, out=tmp_path / "a", engine=INLINE)
    build(dataclasses.replace(recipe), root=root, out=tmp_path / "b", engine=INLINE)
    result = compare_builds(tmp_path / "a", tmp_path / "b")
    assert result["recipe"] == []
    assert all(d["added"] == d["removed"] == 0 for d in result["domains"].values())
    with pytest.raises(NotFound, match="made by barrow build"):
        compare_builds(tmp_path / "a", tmp_path)
