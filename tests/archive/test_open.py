from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

import barrow
from barrow import Document
from barrow.errors import DamagedShard, NotFound


def test_paths_globs_lists_and_folders(
    folder: Path, write: Callable[..., Path], documents: list[Document]
) -> None:
    shards = sorted(folder.glob("*.jsonl.zst"))
    assert list(barrow.archive.open(str(folder / "*.jsonl.zst"))) == documents
    assert list(barrow.archive.open(shards)) == documents
    extra = write([Document("extra")], "extra.jsonl.zst")
    assert list(barrow.archive.open([folder, extra])) == [*documents, Document("extra")]


def test_a_folder_without_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"text":"b"}\n')
    (tmp_path / "a.jsonl").write_text('{"text":"a"}\n')
    (tmp_path / "README.md").write_text("not data")
    assert [d.text for d in barrow.archive.open(tmp_path)] == ["a", "b"]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        barrow.archive.open(tmp_path / "none")
    with pytest.raises(NotFound, match="contains no archive"):
        barrow.archive.open(tmp_path)


def test_over_fsspec(folder: Path, documents: list[Document]) -> None:
    for path in folder.iterdir():
        with fsspec.open(f"memory://ours/{path.name}", "wb") as file:
            file.write(path.read_bytes())
    archive = barrow.archive.open("memory://ours")
    assert list(archive) == documents
    assert archive[777] == documents[777]


def test_a_missing_shard(folder: Path, documents: list[Document]) -> None:
    catalog = barrow.archive.read_catalog(str(folder))
    lost = catalog.shards[1]
    (folder / lost.name).unlink()
    with pytest.raises(DamagedShard, match=f"{lost.name}: listed in archive.json, but missing"):
        barrow.archive.open(folder)
    archive = barrow.archive.open(folder, on_bad="count")
    first = catalog.shards[0].documents
    assert list(archive) == documents[:first] + documents[first + lost.documents :]
    assert archive.bad.counts == {"missing-shard": 1}
    assert archive.bad.documents_lost == {"missing-shard": lost.documents}


def test_a_replaced_shard(folder: Path, write: Callable[..., Path]) -> None:
    names = [shard.name for shard in barrow.archive.read_catalog(str(folder)).shards]
    shutil.copy(folder / names[0], folder / names[1])
    with pytest.raises(DamagedShard, match=f"{names[1]}: not the shard that archive.json lists"):
        barrow.archive.open(folder)
    foreign = folder / names[1]
    foreign.write_bytes(b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00")
    with pytest.raises(DamagedShard, match="replaced|not the shard"):
        barrow.archive.open(folder)
    archive = barrow.archive.open(folder, on_bad="count")
    assert len(list(archive)) > 0
    assert archive.bad.counts == {"replaced-shard": 1}


def test_a_truncated_shard_of_an_archive(folder: Path, documents: list[Document]) -> None:
    name = barrow.archive.read_catalog(str(folder)).shards[-1].name
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(DamagedShard, match=name):
        barrow.archive.open(folder)
    archive = barrow.archive.open(folder, on_bad="count")
    got = list(archive)
    assert got == documents[: len(got)]
    assert archive.bad.counts["no-seek-table"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_bad": "ignore"}, "'raise' or 'count'"),
        ({"rejects": "x"}, "needs on_bad='count'"),
        ({"fields": ("texts",)}, "'text' or 'meta'"),
        ({"max_document": 0}, "must be ≥ 1"),
        ({"threads": 0}, "must be ≥ 1"),
    ],
)
def test_wrong_arguments(options: dict, words: str, shard: Path) -> None:
    with pytest.raises(ValueError, match=words):
        barrow.archive.open(shard, **options)
