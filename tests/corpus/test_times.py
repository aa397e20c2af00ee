from __future__ import annotations

import json
from pathlib import Path

import pytest

from barrow.cli.main import run
from barrow.corpus import Recipe, build
from barrow.corpus.times import read_times, write_times
from barrow.corpus.verify import verify_corpus
from barrow.engine import Engine, StageTime
from barrow.errors import ConfigError, NotFound

INLINE = Engine(num_workers=0)


def test_times_are_beside_the_manifest(
    root: Path, recipe: Recipe, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """PILE-1: what each stage took is recorded, and nothing else depends on it."""
    out = tmp_path / "out"
    build(recipe, root=root, out=out, engine=INLINE)
    times = read_times(out)
    assert (times["engine"], times["workers"]) == ("local", 0)
    rows = {row["stage"]: row for row in times["stages"]}
    assert list(rows)[:3] == ["Hashing", "Reading", "Examining"]
    size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file() and not f.is_symlink())
    assert 0 < rows["Hashing"]["bytes"] <= size
    assert rows["Reading"]["bytes"] == rows["Hashing"]["bytes"]
    assert all(row["from_cache"] == 0 and row["tasks"] > 0 for row in rows.values())
    assert 0 < rows["Reading"]["cpu_seconds"] < times["seconds"] * 2
    assert sum(row["seconds"] for row in rows.values()) <= times["seconds"] + 0.01
    assert "times" not in (out / "manifest.json").read_text()
    assert verify_corpus(out).ok
    assert 'href="times.html"' in (out / "report.html").read_text()
    assert "Examining" in (out / "times.html").read_text()

    before = {path: path.read_bytes() for path in out.rglob("times.*")}
    build(recipe, root=root, out=out, engine=INLINE)
    assert {path: path.read_bytes() for path in out.rglob("times.*")} == before, "nothing was done"
    assert run(["corpus", "stats", str(out), "--times"]) == 0
    printed = capfd.readouterr().out.splitlines()
    assert printed[0].split()[:2] == ["stage", "tasks"]
    assert printed[-2].startswith("total")
    assert run(["corpus", "stats", str(out), "--times", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == times


def test_what_was_done_before_is_said(tmp_path: Path) -> None:
    done = StageTime("Reading", 3, 3, 0, 0.1, 0.0)
    hashed = StageTime("Hashing", 3, 0, 9, 0.1, 0.0)
    with pytest.raises(NotFound, match=r"no times.json"):
        read_times(tmp_path)
    write_times(tmp_path, [hashed, done], engine=INLINE, seconds=1.0)
    assert read_times(tmp_path)["seconds"] == 1.0, "the build before it was killed"
    write_times(tmp_path, [hashed, done], engine=INLINE, seconds=2.0)
    assert read_times(tmp_path)["seconds"] == 1.0
    part = StageTime("Writing", 5, 2, 12_000_000, 3.0, 2.0)
    write_times(tmp_path, [hashed, done, part], engine=INLINE, seconds=5.5)
    assert read_times(tmp_path)["stages"][2]["from_cache"] == 2
    (tmp_path / "times.json").write_text("[]")
    with pytest.raises(ConfigError, match="must have the keys engine"):
        read_times(tmp_path)
