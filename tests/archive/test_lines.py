"""Documents move from shard to shard as lines (PILE-4)."""

from __future__ import annotations

from pathlib import Path

import pytest

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.archive.shard import shard_lines
from barrow.errors import DamagedShard


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl.zst"
    with Writer(path, frame_size=200) as writer:
        writer.extend(Document(f"text é {k}\n" * (k % 5), {"k": k}) for k in range(50))
    return path


def test_lines_written_again_give_the_same_shard(shard: Path, tmp_path: Path) -> None:
    copy = tmp_path / "b.jsonl.zst"
    with Writer(copy, frame_size=200) as writer:
        for line in shard_lines(shard):
            writer.add_line(line)
    assert copy.read_bytes() == shard.read_bytes()


@pytest.mark.parametrize(
    ("start", "stop"), [(0, None), (0, 0), (3, 17), (49, 50), (10, 99), (60, 70)]
)
def test_any_range(shard: Path, start: int, stop: int | None) -> None:
    import msgspec

    found = [msgspec.json.decode(line)["meta"]["k"] for line in shard_lines(shard, start, stop)]
    assert found == list(range(50))[start:stop]


def test_frames_end_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    with Writer(path) as writer:
        writer.end_frame()  # nothing to end
        for k in range(6):
            writer.add(Document(str(k)))
            if k % 2:
                writer.end_frame()
    frames = barrow.archive.open(path).frames()
    assert [[document.text for document in frame] for frame in frames] == [
        ["0", "1"],
        ["2", "3"],
        ["4", "5"],
    ]


def test_a_foreign_file_has_no_frames(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"")
    with pytest.raises(DamagedShard):
        list(shard_lines(path))
