from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import barrow
from barrow import Document

LINES = b'{"text":"a"}\nnot json\n{"text":1}\n{"text":"\xff"}\n{"text":"b"}\nnot json either\n'


@pytest.fixture
def bad_file(tmp_path: Path) -> Path:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(LINES)
    return path


def test_bad_records_are_counted_by_reason_and_readable_elsewhere(
    bad_file: Path, tmp_path: Path, either_path: str
) -> None:
    rejects = tmp_path / "rejects.jsonl"
    archive = barrow.archive.open(bad_file, on_bad="count", rejects=rejects)
    assert list(archive) == [Document("a"), Document("b")]
    assert archive.bad.counts == {"not-json": 2, "text-not-string": 1, "invalid-utf8": 1}
    assert len(archive.bad) == 4
    rows = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(row["reason"], row["document"]) for row in rows] == [
        ("not-json", 1),
        ("text-not-string", 2),
        ("invalid-utf8", 3),
        ("not-json", 5),
    ]
    assert rows[0]["raw"] == "not json"
    assert base64.b64decode(rows[2]["raw_base64"]) == b'{"text":"\xff"}'
    assert {row["shard"] for row in rows} == {"bad.jsonl"}
    assert [error.document for error in archive.bad.examples] == [1, 2, 3, 5]


def test_each_pass_counts_anew(bad_file: Path) -> None:
    archive = barrow.archive.open(bad_file, on_bad="count")
    for _ in range(2):
        list(archive)
        assert len(archive.bad) == 4
    assert [n for block in archive.blocks() for n in block.numbers] == [0, 4]
    assert len(archive.bad) == 4


def test_a_bad_record_keeps_its_number(bad_file: Path) -> None:
    archive = barrow.archive.open(bad_file, on_bad="count")
    assert len(archive) == 6
    assert archive[4] == Document("b")
    with pytest.raises(barrow.errors.BadRecord, match="document 2"):
        archive[2]
    assert list(archive[1:5]) == [Document("b")]
    assert sum(len(list(archive.shard(rank, 3))) for rank in range(3)) == 2


def test_examples_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"bad\n" * 5000)
    archive = barrow.archive.open(path, on_bad="count")
    assert list(archive) == []
    assert archive.bad.counts == {"not-json": 5000}
    assert len(archive.bad.examples) == 100
    assert repr(archive.bad) == "BadLog({'not-json': 5000})"


def test_each_part_answers_for_its_own(bad_file: Path) -> None:
    archive = barrow.archive.open(bad_file, on_bad="count")
    parts = [archive.shard(rank, 3) for rank in range(3)]
    assert [[d.text for d in part] for part in parts] == [["a"], [], ["b"]]
    assert [len(part.bad) for part in parts] == [1, 2, 1]
    strict = barrow.archive.open(bad_file)
    assert list(strict[4:5]) == [Document("b")]
    with pytest.raises(barrow.errors.BadRecord, match="document 3"):
        list(strict[3:5])


def test_damage_found_at_opening_is_told_once(folder: Path) -> None:
    (folder / barrow.archive.read_catalog(str(folder)).shards[0].name).unlink()
    archive = barrow.archive.open(folder, on_bad="count")
    parts = [archive.shard(rank, 4) for rank in range(4)]
    for part in parts:
        list(part)
    assert [dict(part.bad.counts) for part in parts] == [{"missing-shard": 1}, {}, {}, {}]
    frames = archive.frames()
    assert archive.bad.counts == {"missing-shard": 1}
    for frame in frames:
        list(frame)
    assert sum(len(frame.part.bad) for frame in frames) == 0


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_without_records_is_not_passed_over(place: int, tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        file.write_text('{"text":"x"}\n' * 3)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    files.insert(place, empty)
    archive = barrow.archive.open(files)
    for whole in (archive, archive[:], archive.shard(0, 1)):
        with pytest.raises(barrow.errors.DamagedShard, match="empty.jsonl"):
            list(whole)
    counting = barrow.archive.open(files, on_bad="count")
    parts = [counting.shard(rank, 3) for rank in range(3)]
    assert sum(len(list(part)) for part in parts) == 6
    assert sum(part.bad.counts["empty-file"] for part in parts) == 1


def test_parts_add_to_the_rejects(bad_file: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    rejects.write_text("of an earlier run\n")
    archive = barrow.archive.open(bad_file, on_bad="count", rejects=rejects)
    for frame in archive.frames():
        list(frame)
    assert len(rejects.read_text().splitlines()) == 4
    list(archive.shard(0, 3))
    assert len(rejects.read_text().splitlines()) == 5


def test_the_first_of_each_reason_is_an_example(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"bad\n" * 150 + b"{}\n")
    archive = barrow.archive.open(path, on_bad="count")
    list(archive)
    assert archive.bad.examples[-1].reason == "no-text"
