"""Our own shards, whole and damaged."""

from __future__ import annotations

import struct
import subprocess
import sys
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


def test_a_cut_anywhere_is_noticed(write: Callable[..., Path]) -> None:
    path = write([Document("one"), Document("two")], frame_size=1)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedShard):
            list(barrow.archive.open(path))
        assert not barrow.archive.verify(path).ok


def test_a_cut_after_a_long_first_frame_is_noticed(write: Callable[..., Path]) -> None:
    import random

    noise = random.Random(0).randbytes(5_000_000).hex()
    path = write([Document(noise), Document("two")], frame_size=1)
    frame = table_of(path).frames[0]
    path.write_bytes(path.read_bytes()[: frame.start + frame.size])
    with pytest.raises(DamagedShard, match="ends before its seek table"):
        barrow.archive.open(path)


def test_salvage_counts_a_frame_whose_magic_is_gone(write: Callable[..., Path]) -> None:
    path = write([Document(f"d{k}") for k in range(4)], frame_size=1)
    data = bytearray(path.read_bytes())
    data[table_of(path).frames[2].start] ^= 0xFF
    data[-1] ^= 0xFF
    path.write_bytes(data)
    got, bad = texts(path)
    assert got == ["d0", "d1", "d3"]
    assert bad.counts == {"no-seek-table": 1, "corrupt": 1}


def test_a_shard_that_goes_away_after_opening(shard: Path) -> None:
    archive, counting = barrow.archive.open(shard), barrow.archive.open(shard, on_bad="count")
    shard.unlink()
    with pytest.raises(DamagedShard, match="cannot be read"):
        list(archive)
    assert list(counting) == []
    assert set(counting.bad.counts) == {"unreadable"}


@pytest.mark.parametrize("counts", [(2, 1), (3, 1), (5, 1)])
def test_an_index_that_lies_is_noticed_by_readers(
    counts: tuple[int, int], write: Callable[..., Path], either_path: str
) -> None:
    path = write([Document(f"{n}" * 9) for n in range(5)], frame_size=100)
    table = table_of(path)
    assert len(table.frames) == 2
    right = table.index.documents
    rewrite_end(path, layout.Index(counts, table.index.hash_before), list(table.entries))
    if counts == right:
        return
    with pytest.raises(DamagedShard, match="; the index lists"):
        list(barrow.archive.open(path))
    with pytest.raises(DamagedShard, match="; the index lists"):
        list(barrow.archive.open(path).blocks())
    with pytest.raises(DamagedShard, match="; the index lists"):
        barrow.archive.open(path)[0]


def test_an_index_cannot_claim_more_documents_than_bytes(shard: Path) -> None:
    table = table_of(shard)
    wrong = (2**32 - 1, *table.index.documents[1:])
    rewrite_end(shard, layout.Index(wrong, table.index.hash_before), list(table.entries))
    with pytest.raises(DamagedShard, match="cannot hold 4,294,967,295 documents"):
        barrow.archive.open(shard)


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
    entries[3] = layout.Entry(entries[3].size, 2**32 - 1, entries[3].checksum)
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
        layout.Entry(len(layout.EMPTY_FRAME), 0, 0),
        layout.Entry(len(layout.MARKER), 0, 0),
        layout.Entry(len(bomb), 100, 0),
    ]
    import xxhash

    before = layout.PREAMBLE + bomb
    index = layout.pack_index(layout.Index((1,), xxhash.xxh64_intdigest(before)))
    entries.append(layout.Entry(len(index), 0, 0))
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(before + index + layout.pack_seek_table(entries))
    with pytest.raises(DamagedShard, match="does not decompress to the 100 bytes listed"):
        list(barrow.archive.open(path))
    path.write_bytes((before + index + layout.pack_seek_table(entries))[:-1])
    code = f"""
import barrow
assert not barrow.archive.verify({str(path)!r}).ok
assert list(barrow.archive.open({str(path)!r}, on_bad="count", max_document=1 << 20)) == []
print([l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")][0])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 150_000, "neither verify nor salvage unpacks what a bomb claims"


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
