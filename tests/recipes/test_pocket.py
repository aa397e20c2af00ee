from __future__ import annotations

from pathlib import Path

import pytest

import barrow
from barrow.corpus import build
from barrow.engine import Engine
from barrow.recipes import pocket


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_the_raw_files_are_the_same_each_time(tmp_path: Path) -> None:
    pocket.prepare(tmp_path / "a")
    first = contents(tmp_path / "a")
    (tmp_path / "a" / "left over").touch()
    pocket.prepare(tmp_path / "a")
    assert contents(tmp_path / "a") == first
    folders = {name.split("/")[0] for name in first}
    assert folders >= set(pocket.recipe().domains)


def test_the_corpus(tmp_path: Path) -> None:
    pocket.prepare(tmp_path / "raw")
    out = tmp_path / "out"
    report = build(pocket.recipe(), root=tmp_path / "raw", out=out, engine=Engine(num_workers=0))
    assert min(told["documents"] for told in report["reading"].values()) >= 10
    for document in barrow.archive.open(out):
        assert document.text.strip()
        assert not document.meta["source"].startswith("/"), "no path of this machine"
        assert document.meta["licence"]


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not made by the demo"):
        pocket.prepare(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
