from __future__ import annotations

import os
import pickle
from pathlib import Path

import fsspec
import pytest

from barrow.archive import storage
from barrow.errors import NotFound


def test_paths_globs_and_lists(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "note.txt"):
        (tmp_path / name).write_text("x")
    assert storage.as_paths(tmp_path / "a.jsonl") == [str(tmp_path / "a.jsonl")]
    assert storage.as_paths(str(tmp_path / "*.jsonl")) == [
        str(tmp_path / "a.jsonl"),
        str(tmp_path / "b.jsonl"),
    ]
    both = [tmp_path / "b.jsonl", tmp_path / "a.jsonl"]
    assert storage.as_paths(both) == [str(path) for path in both], "a list keeps its order"
    assert [storage.base_name(p) for p in storage.list_readable(str(tmp_path))] == [
        "a.jsonl",
        "b.jsonl",
    ]


def test_a_name_with_glob_characters_is_first_of_all_a_name(tmp_path: Path) -> None:
    (tmp_path / "a[1].jsonl").write_text("x")
    assert storage.as_paths(tmp_path / "a[1].jsonl") == [str(tmp_path / "a[1].jsonl")]


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("x")
    with pytest.raises(NotFound, match=r"did you mean .*train\.jsonl"):
        storage.as_paths(tmp_path / "tran.jsonl")
    with pytest.raises(NotFound, match="no file matches"):
        storage.as_paths(tmp_path / "*.zst")
    with pytest.raises(FileNotFoundError):
        storage.as_paths("/no/such/place/at/all")
    with pytest.raises(ValueError, match="no path"):
        storage.as_paths([])
    with pytest.raises(IsADirectoryError, match="a folder where a file is expected"):
        storage.open_binary(str(tmp_path))


def test_urls() -> None:
    with fsspec.open("memory://place/x.jsonl", "wb") as file:
        file.write(b"0123456789")
    assert storage.exists("memory://place/x.jsonl")
    assert storage.is_folder("memory://place")
    assert storage.as_paths("memory://place/*.jsonl") == ["memory:///place/x.jsonl"]
    assert storage.list_readable("memory://place") == ["memory://place/x.jsonl"]
    ranges = storage.ByteRanges("memory://place/x.jsonl")
    assert (ranges.size, ranges.read(3, 4)) == (10, b"3456")


def test_byte_ranges(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    ranges = pickle.loads(pickle.dumps(storage.ByteRanges(str(path))))
    assert ranges.size == 10
    assert ranges.read(8, 100) == b"89"
    before = len(os.listdir("/proc/self/fd"))
    many = [storage.ByteRanges(str(path)) for _ in range(50)]
    assert all(r.read(0, 1) == b"0" for r in many)
    assert len(os.listdir("/proc/self/fd")) == before, "no descriptor is kept"
    assert storage.disk_bytes(path) == 10


def test_globs_mean_files(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "x.jsonl").write_text("x")
    (folder / "archive.json").write_text("{}")
    assert storage.as_paths(str(tmp_path / "a*" / "**")) == [str(folder / "x.jsonl")]
    assert storage.as_paths(str(folder / "*")) == [str(folder / "x.jsonl")]
    assert storage.as_paths(str(tmp_path / "*")) == [str(folder)]


def test_a_local_name_with_colons(tmp_path: Path) -> None:
    path = tmp_path / "a::b.jsonl"
    path.write_text("x")
    assert storage.as_paths(path) == [str(path)]
    assert storage.ByteRanges(str(path)).read(0, 1) == b"x"


def test_more_than_one_call_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda f, n, start: pread(f, min(n, 3), start))
    assert storage.ByteRanges(str(path)).read(1, 8) == b"12345678"
    assert storage.ByteRanges(str(path)).read(8, 8) == b"89"
