from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive import Writer


def reasons(path: Path, **options: object) -> list[str]:
    return [p.reason for p in barrow.archive.verify(path, **options).problems]  # type: ignore[arg-type]


def test_a_whole_archive(folder: Path, shard: Path) -> None:
    """PILE-11: verify."""
    for path in (folder, shard):
        done: list[int] = []
        result = barrow.archive.verify(path, deep=True, on_progress=done.append)
        assert result.ok
        assert result.num_documents == 1000
        assert result.num_frames > 10
        assert 0 < sum(done) <= result.num_bytes


documents = st.lists(st.builds(Document, st.text(st.characters(codec="utf-8"))), max_size=6)


@given(documents, st.integers(1, 60), st.data())
def test_any_flipped_byte_is_found(
    tmp_path: Path, documents: list[Document], frame_size: int, data: st.DataObject
) -> None:
    path = tmp_path / "x.jsonl.zst"
    with Writer(path, frame_size=frame_size, overwrite=True) as writer:
        writer.extend(documents)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    assert not barrow.archive.verify(path).ok


def check_every_byte(tmp_path: Path, masks: list[int], frame_size: int) -> None:
    path = tmp_path / "x.jsonl.zst"
    rng = random.Random(0)
    with Writer(path, frame_size=frame_size) as writer:
        writer.extend(Document(rng.randbytes(30).hex(), {"n": n}) for n in range(6))
    whole = path.read_bytes()
    for position in range(len(whole)):
        for mask in masks:
            damaged = bytearray(whole)
            damaged[position] ^= mask
            path.write_bytes(damaged)
            assert not barrow.archive.verify(path, threads=1).ok, (position, mask)


def test_every_single_byte(tmp_path: Path) -> None:
    check_every_byte(tmp_path, [0x10], frame_size=150)


@pytest.mark.soak
def test_every_single_bit(tmp_path: Path) -> None:
    check_every_byte(tmp_path, [1 << bit for bit in range(8)], frame_size=150)


@given(st.data())
def test_any_cut_is_found(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "x.jsonl.zst"
    with Writer(path, frame_size=50, overwrite=True) as writer:
        writer.extend(Document(f"document {n}") for n in range(5))
    whole = path.read_bytes()
    first_frame = whole.index(b"\x50\x2a\x4d\x18"[1:]) - 1
    # Cut right after the first frame, nothing says that there was more.
    cut = data.draw(st.integers(0, len(whole) - 1).filter(lambda n: n != first_frame))
    path.write_bytes(whole[:cut])
    assert not barrow.archive.verify(path).ok


def test_bytes_at_the_end(shard: Path) -> None:
    shard.write_bytes(shard.read_bytes() + b"\0")
    assert not barrow.archive.verify(shard).ok


def test_each_problem_of_a_set_is_told(folder: Path, write: Callable[..., Path]) -> None:
    names = [shard.name for shard in barrow.archive.read_catalog(str(folder)).shards]
    (folder / names[0]).unlink()
    shutil.copy(folder / names[1], folder / names[2])
    data = bytearray((folder / names[3]).read_bytes())
    data[100] ^= 4
    (folder / names[3]).write_bytes(data)
    shutil.copy(folder / names[1], folder / "99999.jsonl.zst")
    found = barrow.archive.verify(folder).problems
    by_shard: dict[str, set[str]] = {}
    for problem in found:
        by_shard.setdefault(problem.shard, set()).add(problem.reason)
    assert by_shard[names[0]] == {"missing-shard"}
    assert by_shard[names[2]] & {"replaced-shard", "checksum"}
    assert by_shard[names[3]] == {"checksum", "corrupt"}
    assert by_shard["99999.jsonl.zst"] == {"unlisted-shard"}
    assert names[1] not in by_shard


def test_deep_finds_what_frames_cannot_tell(tmp_path: Path) -> None:
    """A shard whose frames are whole, with a record that is not one of ours."""
    from barrow.archive.shard_file import FrameBuffer

    path = tmp_path / "x.jsonl.zst"
    writer = Writer(path)
    writer.add(Document("good"))
    frame: FrameBuffer = writer._frame
    frame._lines += b'{"text":7}\n'
    frame.num_documents += 1
    writer.close()
    assert reasons(path) == []
    assert reasons(path, deep=True) == ["text-not-string"]


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text":"a"}\n{"text":\n')
    assert reasons(path) == []
    assert reasons(path, deep=True) == ["not-json"]
    (tmp_path / "y.jsonl.gz").write_bytes(b"nonsense")
    assert reasons(tmp_path) == ["wrong-magic"]
    assert barrow.archive.verify(path).num_documents == 2


@pytest.mark.parametrize("key", ["xxh64", "sha256", "documents", "bytes", "content_bytes"])
def test_a_catalog_that_lies(key: str, folder: Path) -> None:
    import json

    path = folder / "archive.json"
    saved = json.loads(path.read_text())
    value = saved["shards"][1][key]
    saved["shards"][1][key] = value + 1 if isinstance(value, int) else "0" * len(value)
    path.write_text(json.dumps(saved))
    assert len(reasons(folder)) == 1


def test_an_unfinished_folder(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a", shard_size=1, frame_size=1)
    writer.add(Document("a"))
    assert "unfinished" in reasons(tmp_path / "a")
    writer.discard()
