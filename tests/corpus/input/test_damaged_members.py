"""Compressed members, read past damage (PILE-8)."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.input import damaged_members as module
from barrow.corpus.input.damaged_members import Piece, decompressed_pieces, is_compressed
from barrow.errors import MissingExtra

RECORDS = [b"R%d " % n + random.Random(n).randbytes(3000) + b"end" for n in range(6)]
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "lz4": functools.partial(lz4.frame.compress, content_checksum=True),
    "zstandard": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def pieces(data: bytes) -> list[Piece]:
    return list(decompressed_pieces(io.BytesIO(data), lambda begin: begin.startswith(b"R")))


def members(data: bytes) -> Iterator[bytes | str]:
    """Content of each member, or the reason of damage in its place."""
    parts: list[bytes] = []
    for piece in pieces(data):
        if piece.begins is not None or piece.damage is not None:
            yield from [b"".join(parts)] if parts else []
            parts = []
        if piece.damage is not None:
            yield piece.damage.reason
        else:
            parts.append(piece.data)
    yield from [b"".join(parts)] if parts else []


@pytest.mark.parametrize("name", FORMS)
def test_members_and_where_they_begin(name: str) -> None:
    packed = [FORMS[name](record) for record in RECORDS]
    data = b"".join(packed)
    assert list(members(data)) == RECORDS
    begins = [piece.begins for piece in pieces(data) if piece.begins is not None]
    assert begins == [sum(map(len, packed[:n])) for n in range(6)]
    assert is_compressed(io.BytesIO(data))


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, bytes])
def test_other_forms(pack: Callable[[bytes], bytes]) -> None:
    data = b"".join(RECORDS)
    assert b"".join(piece.data for piece in pieces(pack(data))) == data
    assert is_compressed(io.BytesIO(pack(data))) == (pack is not bytes)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("size", [1, 1000, 500_000])
def test_garbage_between_members(name: str, size: int) -> None:
    packed = [FORMS[name](record) for record in RECORDS]
    packed[3:3] = [b"\xa5" * size]
    assert list(members(b"".join(packed))) == [*RECORDS[:3], "corrupt", *RECORDS[3:]]


@pytest.mark.parametrize("name", FORMS)
def test_a_member_that_breaks_off_costs_itself(name: str) -> None:
    packed = [FORMS[name](record) for record in RECORDS]
    packed[2] = packed[2][:1500]
    found = list(members(b"".join(packed)))
    assert found[:2] == RECORDS[:2]
    assert found[-3:] == RECORDS[3:]
    assert "corrupt" in found or "truncated" in found


@pytest.mark.parametrize("name", FORMS)
def test_a_changed_byte_costs_its_member(name: str) -> None:
    packed = [bytearray(FORMS[name](record)) for record in RECORDS]
    packed[2][1500] ^= 0xFF
    found = list(members(b"".join(packed)))
    assert found[:2] == RECORDS[:2]
    assert found[-3:] == RECORDS[3:]
    assert "corrupt" in found


@pytest.mark.parametrize("name", FORMS)
def test_the_file_breaks_off(name: str) -> None:
    data = b"".join(FORMS[name](record) for record in RECORDS)
    found = list(members(data[:-700]))
    assert found[:5] == RECORDS[:5]
    assert found[-1] == "truncated"


@pytest.mark.parametrize("name", ["bz2", "xz"])
def test_damage_where_nothing_can_be_mended(name: str) -> None:
    data = (bz2 if name == "bz2" else lzma).compress(b"".join(RECORDS))
    assert list(members(data[:-700]))[-1] == "truncated"


def test_zeros_between_members_are_padding() -> None:
    data = b"".join(gzip.compress(record) + bytes(300_000) for record in RECORDS)
    assert list(members(data)) == RECORDS


@pytest.mark.parametrize("name", FORMS)
def test_a_bomb_comes_in_small_pieces(name: str) -> None:
    data = FORMS[name](bytes(1 << 26))
    found = pieces(data)
    assert sum(len(piece.data) for piece in found) == 1 << 26
    assert max(len(piece.data) for piece in found) <= 1 << 20


def dictionary_file(*, packed: bool) -> bytes:
    samples = [b"WARC/1.0\r\nWARC-Type: response %d\r\n" % n * 9 for n in range(500)]
    dictionary = zstandard.train_dictionary(4096, samples)
    compressor = zstandard.ZstdCompressor(dict_data=dictionary)
    stored = dictionary.as_bytes()
    stored = zstandard.compress(stored) if packed else stored
    head = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored
    return head + b"".join(compressor.compress(record) for record in RECORDS)


@pytest.mark.parametrize("packed", [True, False])
def test_a_dictionary_in_the_first_frame(packed: bool) -> None:
    """As the WARC specification for zstandard has it."""
    assert list(members(dictionary_file(packed=packed))) == RECORDS


@pytest.mark.parametrize("size", [8, 0xFFFFFFF0])
def test_a_broken_dictionary(size: int) -> None:
    data = b"\x5d\x2a\x4d\x18" + size.to_bytes(4, "little") + b"\x37\xa4\x30\xecnone"
    assert list(members(data + zstandard.compress(b"R"))) == ["corrupt"]


def test_the_search_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_TRIES", 10)
    good = gzip.compress(RECORDS[0])
    assert list(members(good + b"\x1f\x8b\x08" * 9 + good)) == [RECORDS[0], "corrupt", RECORDS[0]]
    assert list(members(good + b"\x1f\x8b\x08" * 20 + good)) == [RECORDS[0], "corrupt"]


def test_damaged_members_may_waste_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = bytearray(gzip.compress(b"R" + bytes(5 << 20)))
    bad[-6] ^= 1
    data = bytes(bad) + gzip.compress(RECORDS[0])
    assert list(members(data))[-2:] == ["corrupt", RECORDS[0]]
    monkeypatch.setattr(module, "_MAX_WASTE", 1 << 20)
    assert list(members(data))[-1] == "corrupt"


@pytest.mark.parametrize("library", ["isal", "lz4"])
def test_a_missing_library_names_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (library, "isal.igzip_lib", "lz4.frame"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    data = FORMS["gzip" if library == "isal" else "lz4"](b"R")
    with pytest.raises(MissingExtra, match=r"'.\[web\]"):
        pieces(data)


@given(st.sampled_from(sorted(FORMS)), st.data())
def test_any_change(name: str, draw: st.DataObject) -> None:
    """Nothing raises, and members away from the change are there."""
    packed = [bytearray(FORMS[name](record)) for record in RECORDS]
    place = draw.draw(st.integers(0, len(packed[2]) - 1))
    packed[2][place : place + 3] = draw.draw(st.binary(max_size=5))
    found = list(members(b"".join(packed)))
    assert found[:2] == RECORDS[:2]
    assert found[-2:] == RECORDS[4:]


@given(
    st.sampled_from([b"\x1f\x8b\x08", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd", b""]), st.binary()
)
def test_any_bytes(magic: bytes, data: bytes) -> None:
    assert all(isinstance(piece, Piece) for piece in pieces(magic + data))


def test_a_file_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(RECORDS[0]))
    with path.open("rb") as file:
        found = list(decompressed_pieces(file, lambda _: True))
    assert found == [Piece(RECORDS[0], 0)]
