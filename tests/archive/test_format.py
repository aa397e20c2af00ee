"""The bytes of a shard, read with nothing but the description in the documentation."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import xxhash
import zstandard

import barrow
from barrow import Document
from barrow.archive import format as layout


def test_a_shard_can_be_read_by_its_description_alone(
    shard: Path, documents: list[Document]
) -> None:
    """PILE-4: no code of ours, only docs/archive.md."""
    data = shard.read_bytes()
    num_frames, flags, magic = struct.unpack("<IBI", data[-9:])
    assert (flags, magic) == (0x80, 0x8F92EAB1)
    table = data[-(8 + 12 * num_frames + 9) :]
    assert struct.unpack("<II", table[:8]) == (0x184D2A5E, len(table) - 8)
    rows = [struct.unpack_from("<III", table, 8 + 12 * k) for k in range(num_frames)]
    assert sum(size for size, _, _ in rows) + len(table) == len(data)

    at, contents = 0, []
    for size, content_size, checksum in rows:
        frame = data[at : at + size]
        if content_size:
            content = zstandard.ZstdDecompressor().decompress(frame)
            assert len(content) == content_size
            assert xxhash.xxh64_intdigest(content) & 0xFFFFFFFF == checksum
            assert content.endswith(b"\n")
            contents.append(content)
        at += size
    records = [json.loads(line) for content in contents for line in content.split(b"\n")[:-1]]
    assert [(r["text"], r["meta"]) for r in records] == [(d.text, d.meta) for d in documents]

    assert zstandard.ZstdDecompressor().decompress(data[:13]) == b""
    assert data[13:37] == struct.pack("<II", 0x184D2A5B, 16) + b"barrow-shard-v1\n"
    assert [row[0] for row in rows[:2]] == [13, 24]
    index_size = rows[-1][0]
    index = data[at - index_size : at]
    assert struct.unpack("<II", index[:8]) == (0x184D2A5B, index_size - 8)
    word, n, total, hash_before = struct.unpack_from("<16sIQQ", index, 8)
    assert (word, n, total) == (b"barrow-index-v1\n", len(contents), len(documents))
    counts = struct.unpack_from(f"<{n}I", index, 8 + 36)
    assert counts == tuple(content.count(b"\n") for content in contents)
    assert hash_before == xxhash.xxh64_intdigest(data[: at - index_size])
    (own,) = struct.unpack("<Q", index[-8:])
    assert own == xxhash.xxh64_intdigest(index[8:-8])


def test_an_empty_shard_has_no_data(write: object, tmp_path: Path) -> None:
    path = write([])  # type: ignore[operator]
    data = path.read_bytes()
    assert zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read() == b""
    assert data.startswith(layout.PREAMBLE)
    assert len(list(barrow.archive.open(path))) == 0


def test_index_round_trip() -> None:
    index = layout.Index((3, 1, 4), 2**64 - 1)
    assert layout.unpack_index(layout.pack_index(index)) == index


def test_seek_table_round_trip() -> None:
    entries = [layout.Entry(1, 2, 3), layout.Entry(2**32 - 1, 0, 0)]
    frame = layout.pack_seek_table(entries)
    assert layout.seek_table_size(frame, 10**6) == len(frame)
    assert layout.unpack_seek_table(frame) == entries


def test_every_damage_to_an_index_is_noticed() -> None:
    frame = layout.pack_index(layout.Index((3, 1, 4), 99))
    for position in range(len(frame)):
        damaged = bytearray(frame)
        damaged[position] ^= 0x10
        with pytest.raises(layout.FormatError):
            layout.unpack_index(bytes(damaged))
    for size in range(len(frame)):
        with pytest.raises(layout.FormatError):
            layout.unpack_index(frame[:size])


def test_a_seek_table_cannot_claim_more_than_the_file() -> None:
    footer = struct.pack("<IBI", 2**31, 0x80, 0x8F92EAB1)
    with pytest.raises(layout.FormatError, match="more than the file holds"):
        layout.seek_table_size(footer, 1000)
    assert layout.seek_table_size(b"no such thing at all", 1000) == 0
