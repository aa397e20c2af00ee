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
    with pytest.raises(MissingExtra, match=r"'.\[parquet\]"):
        list(barrow.archive.open(path))


def test_kinds_that_json_has_no_word_for(tmp_path: Path) -> None:
    import datetime

    when = datetime.datetime(2020, 1, 2, 3, 4, 5)
    table = pyarrow.table(
        {
            "text": pyarrow.array([b"caf\xc3\xa9", b"\xff\xfe", b"ok"], pyarrow.binary()),
            "score": [1.5, float("nan"), float("inf")],
            "when": pyarrow.array([when] * 3, pyarrow.timestamp("ns")),
            "blob": pyarrow.array([b"\xff", b"plain", None], pyarrow.binary()),
            "list": pyarrow.array([[1.0, float("nan")], [], None]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    archive = barrow.archive.open(tmp_path / "x.parquet", on_bad="count")
    first, last = list(archive)
    assert first.text == "café", "bytes under the text key are text, not base64"
    stamp = "2020-01-02T03:04:05"
    assert first.meta == {"score": 1.5, "when": stamp, "blob": "/w==", "list": [1.0, None]}
    assert last == Document("ok", {"when": stamp})
    assert archive.bad.counts == {"invalid-utf8": 1}
    assert len(archive) == 3


def test_invalid_utf8_in_a_string_column(tmp_path: Path) -> None:
    good = pyarrow.array(["fine", "xx", "also fine"])
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 3, [None, good.buffers()[1], pyarrow.py_buffer(b"fine\xff\xffalso fine")]
    )
    pyarrow.parquet.write_table(pyarrow.table({"text": broken}), tmp_path / "x.parquet")
    archive = barrow.archive.open(tmp_path / "x.parquet", on_bad="count")
    assert [d.text for d in archive] == ["fine", "also fine"]
    assert archive.bad.counts == {"invalid-utf8": 1}


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pyarrow.table([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["text", "text"])
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(DamagedShard, match="two columns of one name"):
        list(barrow.archive.open(tmp_path / "x.parquet"))


def test_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [{"text": "a"}, {"text": "x" * 1000}, {"text": "b"}])
    archive = barrow.archive.open(path, on_bad="count", max_document=500)
    assert [d.text for d in archive] == ["a", "b"]
    assert archive.bad.counts == {"too-long": 1}


def test_meta_as_json(tmp_path: Path) -> None:
    rows = [{"text": "a", "meta": '{"a": {"b": 1}}', "id": "x"}, {"text": "b", "meta": "{no"}]
    rows += [{"text": "c", "meta": "[1]"}]
    assert list(barrow.archive.open(write(tmp_path / "x.parquet", rows))) == [
        Document("a", {"a": {"b": 1}, "id": "x"}),
        Document("b", {"meta": "{no"}),
        Document("c", {"meta": "[1]"}),
    ]
    path = write(tmp_path / "y.parquet", [{"meta": '{"a": 1}'}])
    assert list(barrow.archive.open(path, text_key="meta")) == [Document('{"a": 1}')]
