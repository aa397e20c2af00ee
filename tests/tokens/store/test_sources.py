from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.tokens.stores import some_documents, write_archive

import barrow
from barrow.errors import ArchiveError, NotFound
from barrow.tokens.store.sources import absolute, cut, find_sources, split_path


def test_the_catalog_says_the_hashes(archive: Path) -> None:
    found = find_sources(str(archive), text_key="text")
    shards = barrow.archive.read_catalog(str(archive)).shards
    assert len(found) > 2
    assert [(s.name, s.sha256) for s in found] == [(s.name, s.sha256) for s in shards]
    for source in found:
        assert hashlib.sha256(Path(source.path).read_bytes()).hexdigest() == source.sha256
        assert source.sha256.startswith(source.key)
        assert len(source.key) == 32


def test_other_files_are_hashed(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_text(f'{{"text":"{name}"}}\n')
    told: list[int] = []
    found = find_sources(str(tmp_path / "*.jsonl"), text_key="text", on_bytes=told.append)
    assert [source.name for source in found] == ["a.jsonl", "b.jsonl"]
    for source in found:
        assert hashlib.sha256(Path(source.path).read_bytes()).hexdigest() == source.sha256
    assert sum(told) == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_a_shard_that_was_replaced(archive: Path) -> None:
    first, second = sorted(archive.glob("*.zst"))[:2]
    first.write_bytes(second.read_bytes())
    with pytest.raises(ArchiveError, match="not the shard that archive.json lists"):
        find_sources(str(archive), text_key="text")


def test_parts_cover_a_file_once(tmp_path: Path) -> None:
    folder = write_archive(tmp_path / "a", some_documents(200), shard_size=1 << 20)
    (source,) = find_sources(str(folder), text_key="text")
    parts = cut(source, 5_000)
    assert len(parts) > 3
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == 200
    assert all(5_000 <= part.size < 5_000 + 10_000 for part in parts[:-1])
    (whole,) = cut(source, 1 << 30)
    assert (whole.start, whole.stop) == (0, 200)
    assert whole.size == sum(part.size for part in parts)


def test_a_file_without_frames_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text":"x"}\n' * 1000)
    (source,) = find_sources(str(path), text_key="text")
    (part,) = cut(source, 100)
    assert (part.start, part.stop, part.size) == (0, None, 13_000)


def test_splits(tmp_path: Path, archive: Path) -> None:
    assert split_path(str(archive), "train") == str(archive)
    with pytest.raises(NotFound, match="has no split 'test': there is no archive in"):
        split_path(str(archive), "test")
    write_archive(archive / "test", some_documents(3))
    assert split_path(str(archive), "test") == str(archive / "test")
    with pytest.raises(ValueError, match="one of train, validation, test, got 'dev'"):
        split_path(str(archive), "dev")


def test_absolute_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("a") == str(tmp_path / "a")
    assert absolute("s3://bucket/a") == "s3://bucket/a"
