from __future__ import annotations

import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import barrow
from barrow import Document
from barrow.errors import DamagedShard, MissingExtra


def write(path: Path, rows: list[dict]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_rows_become_documents(tmp_path: Path) -> None:
    rows = [{"text": f"t{i}", "id": i, "meta": {"a": i}, "none": None} for i in range(3000)]
    archive = barrow.archive.open(write(tmp_path / "x.parquet", rows))
    expected = [Document(f"t{i}", {"a": i, "id": i}) for i in range(3000)]
    assert list(archive) == expected
    assert len(archive) == 3000
    assert archive[2500] == expected[2500]
    assert [d for block in archive.blocks() for d in block.documents()] == expected


def test_another_text_column(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [{"content": "a", "n": 1}])
    assert list(barrow.archive.open(path, text_key="content")) == [Document("a", {"n": 1})]


def test_a_null_text_is_a_record_without_text(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [{"text": "a"}, {"text": None}])
    archive = barrow.archive.open(path, on_bad="count")
    assert list(archive) == [Document("a")]
    assert archive.bad.counts == {"no-text": 1}


def test_a_broken_file(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [{"text": "a"}])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DamagedShard, match="not readable as parquet"):
        list(barrow.archive.open(path))


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.parquet", [{"text": "a"}])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"barrow\[parquet\]"):
        list(barrow.archive.open(path))
