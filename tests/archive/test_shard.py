"""Our own shards, whole and damaged."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

import barrow
from barrow import Document
from barrow.archive import format as layout
from barrow.archive.shard import read_table
from barrow.archive.storage import ByteRanges
from barrow.errors import DamagedShard


def table_of(path: Path):
    table = read_table(ByteRanges(str(path)))
    assert table is not None
    return table


def texts(path: Path) -> tuple[list[str], barrow.archive.BadLog]:
    archive = barrow.archive.open(path, on_bad="count")
    got = [document.text for document in archive]
    return got, archive.bad


def test_random_access_decodes_one_frame_only(
    shard: Path, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PILE-4: random access by document number."""
    from barrow.archive.shard import Shard

    archive = barrow.archive.open(shard)
    loaded: list[int] = []
    original = Shard.load

    def counting(self: Shard, k: int, buffer: memoryview) -> None:
        loaded.append(k)
        original(self, k, buffer)

    monkeypatch.setattr(Shard, "load", counting)
    for number in (0, 1, 500, 998, 999, -1, -1000):
        loaded.clear()
        assert archive[number] == documents[number]
        assert len(loaded) == 1
    loaded.clear()
    assert list(archive[700:703]) == documents[700:703]
    assert len(loaded) <= 2
    loaded.clear()
    assert len(archive) == 1000
    assert loaded == []


def test_a_flipped_byte_in_a_frame(shard: Path, documents: list[Document]) -> None:
    frame = table_of(shard).frames[3]
    data = bytearray(shard.read_bytes())
    data[frame.start + frame.size // 2] ^= 1
    shard.write_bytes(data)
    first = sum(f.num_documents for f in table_of(shard).frames[:3])
    with pytest.raises(
        DamagedShard, match=f"shard.jsonl.zst, frame 3, document {first}: "
    ) as error:
        list(barrow.archive.open(shard))
    assert error.value.reason == "corrupt"
    got, bad = texts(shard)
    kept = documents[:first] + documents[first + frame.num_documents :]
    assert got == [d.text for d in kept], "no other frame is lost"
    assert bad.counts == {"corrupt": 1}
    assert bad.documents_lost == {"corrupt": frame.num_documents}
    assert barrow.archive.open(shard)[first + frame.num_documents] == kept[first]
    with pytest.raises(DamagedShard):
        barrow.archive.open(shard)[first]


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_shard(keep: float, shard: Path, documents: list[Document]) -> None:
    data = shard.read_bytes()
    shard.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(DamagedShard, match="ends before its seek table") as error:
        barrow.archive.open(shard)
    assert error.value.reason == "no-seek-table"
    got, bad = texts(shard)
    assert got == [d.text for d in documents[: len(got)]]
    assert len(got) > len(documents) * (keep - 0.1)
    assert bad.counts["no-seek-table"] == 1


def test_a_missing_seek_table_loses_no_document(shard: Path, documents: list[Document]) -> None:
    table = table_of(shard)
    data = shard.read_bytes()
    shard.write_bytes(data[: table.index_start])
    with pytest.raises(DamagedShard, match="no-seek-table|before its seek table"):
        barrow.archive.open(shard)
    archive = barrow.archive.open(shard, on_bad="count")
    assert list(archive) == documents
    assert archive.bad.counts == {"no-seek-table": 1}
    assert len(archive) == len(documents)
    assert archive[700] == documents[700]


def test_a_shard_cut_after_its_first_frame(write: Callable[..., Path]) -> None:
    path = write([Document("only")])
    frame = table_of(path).frames[0]
    path.write_bytes(path.read_bytes()[: frame.size])
    # Nothing is left that says it was ours: it is a whole foreign file now.
    assert list(barrow.archive.open(path)) == [Document("only")]
    path.write_bytes(write([Document("only")], "other.jsonl.zst").read_bytes()[: frame.size + 24])
    with pytest.raises(DamagedShard, match="ends before its seek table"):
        barrow.archive.open(path)


def rewrite_end(path: Path, index: layout.Index, entries: list[layout.Entry]) -> None:
    table = table_of(path)
    data = path.read_bytes()[: table.index_start]
    frame = layout.pack_index(index)
    path.write_bytes(data + frame + layout.pack_seek_table(entries))


@pytest.mark.parametrize("where", ["seek table", "index", "footer"])
def test_a_damaged_end(where: str, shard: Path, documents: list[Document]) -> None:
    table = table_of(shard)
    data = bytearray(shard.read_bytes())
    position = {
        "seek table": len(data) - 9 - 12 * len(table.entries) + 5,
        "index": table.index_start + 50,
        "footer": len(data) - 9,
    }[where]
    data[position] ^= 0x01
    shard.write_bytes(data)
    if where != "seek table":
        with pytest.raises(DamagedShard) as error:
            barrow.archive.open(shard)
        assert error.value.reason == "bad-index"
    got, bad = texts(shard)
    assert len(bad) >= 1
    if where != "seek table":
        assert got == [d.text for d in documents]


def test_a_frame_that_claims_to_be_huge(shard: Path) -> None:
    """A seek table may say 4 GiB; nobody allocates that on its word."""
    table = table_of(shard)
    entries = list(table.entries)
    entries[2] = layout.Entry(entries[2].size, 2**32 - 1, entries[2].checksum)
    rewrite_end(shard, table.index, entries)
    with pytest.raises(DamagedShard, match="claims 4,294,967,295 bytes, over the limit") as error:
        list(barrow.archive.open(shard))
    assert error.value.reason == "too-large"
    _, bad = texts(shard)
    assert bad.counts == {"too-large": 1}


def test_a_frame_that_unpacks_to_more_than_listed(tmp_path: Path) -> None:
    """A decompression bomb behind an honest-looking seek table."""
    bomb = zstandard.ZstdCompressor(write_checksum=True).compress(b"a" * (1 << 28))
    entries = [
        layout.Entry(len(bomb), 100, 0),
        layout.Entry(len(layout.MARKER), 0, 0),
    ]
    import xxhash

    before = bomb + layout.MARKER
    index = layout.pack_index(layout.Index((1,), xxhash.xxh64_intdigest(before)))
    entries.append(layout.Entry(len(index), 0, 0))
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(before + index + layout.pack_seek_table(entries))
    with pytest.raises(DamagedShard, match="another size than the 100 listed"):
        list(barrow.archive.open(path))


def test_counts_that_do_not_match_the_frames(shard: Path, documents: list[Document]) -> None:
    table = table_of(shard)
    wrong = layout.Index((*table.index.documents[:-1], 1), table.index.hash_before)
    rewrite_end(shard, wrong, list(table.entries))
    problems = barrow.archive.verify(shard).problems
    assert [problem.reason for problem in problems] == ["bad-index"]


def test_fewer_frames_in_the_index(shard: Path) -> None:
    table = table_of(shard)
    index = layout.Index(table.index.documents[:-1], table.index.hash_before)
    entries = list(table.entries)
    entries[-1] = layout.Entry(len(layout.pack_index(index)), 0, 0)
    rewrite_end(shard, index, entries)
    with pytest.raises(DamagedShard, match="more data frames than the index"):
        barrow.archive.open(shard)


def test_a_seekable_file_of_another_program_is_foreign(tmp_path: Path) -> None:
    frame = zstandard.ZstdCompressor().compress(b'{"text":"a"}\n')
    rows = struct.pack("<II", len(frame), 13)  # without checksums
    body = rows + struct.pack("<IBI", 1, 0, 0x8F92EAB1)
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(frame + struct.pack("<II", 0x184D2A5E, len(body)) + body)
    assert list(barrow.archive.open(path)) == [Document("a")]
