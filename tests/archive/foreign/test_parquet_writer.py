from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import datasets
import duckdb
import polars
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive.foreign.parquet_writer import COLUMNS, write_parquet, write_parquet_folder
from barrow.errors import MissingExtra

DOCUMENTS = [
    Document(
        f"text {n} — ünïcode\n" * (n + 1),
        {"pile_set_name": "AB"[n % 2], "id": f"{n:016x}-00000000", "n": n, "date": n % 3 or "2020"},
    )
    for n in range(50)
]


def test_columns_and_groups(tmp_path: Path) -> None:
    """Checked with pyarrow alone: the columns, and that groups of rows are bounded."""
    path = tmp_path / "new" / "x.parquet"
    assert write_parquet(path, iter(DOCUMENTS), group_bytes=3_000) == 50
    file = pyarrow.parquet.ParquetFile(path)
    assert file.schema_arrow.names == ["text", *COLUMNS, "meta"]
    groups = [file.read_row_group(k) for k in range(file.num_row_groups)]
    assert len(groups) > 5
    assert all(sum(map(len, g.column("text").to_pylist()[:-1])) < 3_000 for g in groups)
    rows = file.read().to_pylist()
    assert [row["text"] for row in rows] == [d.text for d in DOCUMENTS]
    assert [row["id"] for row in rows] == [d.meta["id"] for d in DOCUMENTS]
    assert rows[3]["date"] == "2020"
    assert rows[4]["date"] is None, "a number, which is in meta"
    assert json.loads(rows[4]["meta"]) == {"n": 4, "date": 1}
    assert [*path.parent.iterdir()] == [path]


def test_other_tools_read_it(tmp_path: Path) -> None:
    path = tmp_path / "train" / "00000.parquet"
    write_parquet(path, DOCUMENTS)
    texts = [d.text for d in DOCUMENTS]
    assert polars.read_parquet(path)["text"].to_list() == texts
    found = duckdb.sql(
        f"select count(*), min(id) from '{path}' where pile_set_name = 'A'"
    ).fetchall()
    assert found == [(25, DOCUMENTS[0].meta["id"])]
    loaded = datasets.load_dataset(
        "parquet", data_dir=str(tmp_path), cache_dir=str(tmp_path / "cache"), split="train"
    )
    assert loaded["text"][:] == texts


def test_barrow_reads_the_same_documents(tmp_path: Path) -> None:
    write_parquet(tmp_path / "x.parquet", DOCUMENTS)
    assert list(barrow.archive.open(tmp_path / "x.parquet")) == DOCUMENTS
    write_parquet(tmp_path / "empty.parquet", [])
    assert list(barrow.archive.open(tmp_path / "empty.parquet")) == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.text(),
    st.dictionaries(st.sampled_from(["id", "url", "text", "meta", "x", "record.id"]), _VALUES),
)
def test_any_document(tmp_path: Path, text: str, meta: dict) -> None:
    document = Document(text, meta)
    write_parquet(tmp_path / "x.parquet", [document])
    assert list(barrow.archive.open(tmp_path / "x.parquet")) == [document]


def test_files_of_bounded_size(tmp_path: Path) -> None:
    assert write_parquet_folder(tmp_path, DOCUMENTS, file_size=4_000) == 50
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files[:2]] == ["00000.parquet", "00001.parquet"]
    parts = [list(barrow.archive.open(path)) for path in files]
    assert [d for part in parts for d in part] == DOCUMENTS
    assert all(sum(len(d.text) for d in part[:-1]) < 4_000 for part in parts)
    assert write_parquet_folder(tmp_path / "none", [], file_size=10) == 0


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[Document]:
        yield DOCUMENTS[0]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_parquet(tmp_path / "x.parquet", failing())
    assert [*tmp_path.iterdir()] == []


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"'.\[parquet\]"):
        write_parquet(tmp_path / "x.parquet", [])
