"""The parts of writing on their own; together they are tried in test_writer.py."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import zstandard

from barrow import Document
from barrow.archive.shard_file import Compression, FrameBuffer, ShardFile
from barrow.errors import BadRecord


def test_a_frame_is_full_once_it_reaches_its_size() -> None:
    buffer = FrameBuffer(frame_size=30, max_document=100)
    buffer.add(Document("a"), "s", 0)
    assert not buffer.is_full
    buffer.add(Document("b"), "s", 1)
    assert buffer.is_full
    content, num_documents = buffer.take()
    assert (content, num_documents) == (b'{"text":"a","meta":{}}\n{"text":"b","meta":{}}\n', 2)
    assert not buffer.is_full
    with pytest.raises(BadRecord, match="s, document 7"):
        buffer.add(Document("x" * 200), "s", 7)
    assert buffer.take() == (b"", 0)


@pytest.mark.parametrize("threads", [1, 4])
def test_frames_come_back_in_order(threads: int) -> None:
    compression = Compression(level=3, threads=threads)
    contents = [bytes([n]) * 1000 for n in range(50)]
    frames = []
    for content in contents:
        compression.put(content, 1)
        frames += compression.ready()
    frames += compression.all()
    compression.close()
    decompress = zstandard.ZstdDecompressor().decompress
    assert [decompress(frame.compressed) for frame in frames] == contents


def test_a_shard_has_its_name_only_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    shard = ShardFile(path, replace=False)
    assert not path.exists()
    entry = shard.finish()
    assert entry.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (entry.name, entry.documents, entry.bytes) == (path.name, 0, path.stat().st_size)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    second = ShardFile(path, replace=False)
    with pytest.raises(FileExistsError, match="meanwhile"):
        second.finish()
    second.remove()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
