from __future__ import annotations

from pathlib import Path

import pytest

from barrow import Document
from barrow.archive import Writer
from barrow.corpus.build.parts import cut, frames_of, known_parts
from barrow.engine import File
from barrow.errors import NotFound, UnsafeName


def test_parts_are_whole_frames_and_together_everything(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    with Writer(path, frame_size=1_000) as writer:
        writer.extend(Document("x" * 300) for _ in range(100))
    file = File(path, "key")
    parts = cut(file, frames_of(file), part_bytes=5_000)
    assert len(parts) > 3
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, 100)
    assert sum(len(part) for part in parts) == 100
    assert all(part.size >= 5_000 for part in parts[:-1])
    assert len(cut(file, frames_of(file))) == 1


def test_a_file_without_documents_has_no_parts(tmp_path: Path) -> None:
    with Writer(tmp_path / "a.jsonl.zst"):
        pass
    file = File(tmp_path / "a.jsonl.zst", "key")
    assert cut(file, frames_of(file)) == []


@pytest.mark.parametrize("place", ["index", "index/00000.safetensors"])
def test_an_index_that_is_a_link_is_not_followed(tmp_path: Path, place: str) -> None:
    with Writer(tmp_path / "corpus") as writer:
        writer.add(Document("x"))
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "00000.safetensors").touch()
    link = tmp_path / "corpus" / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "victim" / Path(place).relative_to("index"))
    with pytest.raises(UnsafeName, match="leads out of the folder"):
        known_parts(tmp_path / "corpus")


def test_a_corpus_without_an_index_is_no_use(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a corpus; deduplication.against"):
        known_parts(tmp_path)
    with Writer(tmp_path / "plain") as writer:
        writer.add(Document("x"))
    with pytest.raises(NotFound, match="has no index"):
        known_parts(tmp_path / "plain")
