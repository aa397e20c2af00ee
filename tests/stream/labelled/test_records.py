from __future__ import annotations

from pathlib import Path

import pytest

from barrow import Document
from barrow.archive import Writer
from barrow.errors import NotFound
from barrow.stream.labelled.records import read_records


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ['{"text": "a", "label": 1}', "", '{"text": "é", "meta": {"label": "x", "text": "no"}}']
    path.write_text("\n".join(lines), encoding="utf-8")
    first, second = read_records(str(path))
    assert (first.place, first.values) == (f"{path}, line 1", {"text": "a", "label": 1})
    assert second.place == f"{path}, line 3"
    assert (second.values["text"], second.values["label"]) == ("é", "x")


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufefftext,label\n"a, ""b""\nc",x\n\nd,y\n', encoding="utf-8")
    found = list(read_records(str(path)))
    assert [one.values for one in found] == [
        {"text": 'a, "b"\nc', "label": "x"},
        {"text": "d", "label": "y"},
    ]
    assert [one.place for one in found] == [f"{path}, line 2", f"{path}, line 5"]
    tabs = tmp_path / "a.tsv"
    tabs.write_text("text\tlabel\na,b\t1\n")
    assert next(read_records(str(tabs))).values == {"text": "a,b", "label": "1"}


def test_archives(tmp_path: Path) -> None:
    with Writer(tmp_path / "archive") as writer:
        writer.add(Document("a", {"label": "x"}))
        writer.add(Document("b", {"label": "y"}))
    found = list(read_records(str(tmp_path / "archive")))
    assert [dict(one.values) for one in found] == [
        {"label": "x", "text": "a"},
        {"label": "y", "text": "b"},
    ]
    assert found[1].place.endswith("archive, document 1")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text"', "line 2: not JSON in UTF-8"),
        ("a.jsonl", b'{"text": "\xff"}', "line 1: not JSON in UTF-8"),
        ("a.jsonl", b"[1]", "line 1: expected an object, found list"),
        ("a.csv", b"text,label\na\n", "line 2: 1 cells for 2 columns"),
        ("a.csv", b"text,label\na,b\n\xff,c\n", "not UTF-8"),
        ("a.csv", b'text,label\n"a,b', "line 2: unexpected end of data"),
    ],
)
def test_bad_input(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        list(read_records(str(tmp_path / name)))


def test_nothing_there(tmp_path: Path) -> None:
    for name in ("none.jsonl", "none.csv", "none"):
        with pytest.raises(NotFound, match=f"{name} does not exist"):
            list(read_records(str(tmp_path / name)))
