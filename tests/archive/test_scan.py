"""The compiled scanner against the general path, which is msgspec and json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barrow import Document
from barrow.archive import scan as scan_module
from barrow.archive.block import Block, read_block
from barrow.archive.buffers import BufferPool
from barrow.archive.piece import Piece, count_lines
from barrow.archive.records import RecordForm
from barrow.errors import BadRecord

FORM = RecordForm()


def as_piece(data: bytes) -> Piece:
    def load(buffer: memoryview) -> None:
        buffer[:] = data

    return Piece("test", 0, 0, count_lines(data), len(data), load)


def by_scanner(data: bytes) -> list[Document] | None:
    scanned = scan_module.scan(as_piece(data), "text", BufferPool())
    metas = scanned.metas() if scanned is not None else None
    if scanned is None or metas is None:
        return None
    return [Document(text, meta) for text, meta in zip(scanned.texts(), metas, strict=True)]


def by_general(data: bytes) -> tuple[list[Document], list[BadRecord]]:
    parsed = FORM.parse(data, as_piece(data))
    return parsed.documents, list(parsed.bad)


def test_the_compiled_part_is_there() -> None:
    """Everywhere the tests run there is a compiler; without this, they would test nothing."""
    assert scan_module._scan is not None


SPELLINGS = [
    json.dumps,
    lambda v: json.dumps(v, ensure_ascii=False),
    lambda v: json.dumps(v, separators=(",", ":")),
    lambda v: json.dumps(v, separators=("\t, ", " :  ")),
    lambda v: json.dumps(dict(reversed(v.items())), ensure_ascii=False),
    lambda v: "".join(c if c != "/" else "\\/" for c in json.dumps(v)),
]
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    'ab\\"\n\x00é日🙂 ', max_size=300
)
metas = st.dictionaries(
    texts, st.recursive(st.none() | st.integers() | texts, st.lists, max_leaves=5), max_size=3
)


@given(
    st.lists(st.tuples(texts, metas, st.sampled_from(SPELLINGS)), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n\t"]),
    st.booleans(),
)
def test_every_spelling_of_a_record_is_read(records: list, newline: str, final: bool) -> None:
    lines = [spell({"text": text, "meta": meta}) for text, meta, spell in records]
    data = (newline.join(lines) + (newline if final else "")).encode()
    assert by_scanner(data) == [Document(text, meta) for text, meta, _ in records]


ALPHABET = [
    b"{",
    b"}",
    b'"text"',
    b'"meta"',
    b":",
    b",",
    b'"',
    b"\\",
    b"\\u",
    b"d83d",
    b"de00",
    b"\n",
]
ALPHABET += [
    b"[",
    b"]",
    b" ",
    b"a",
    b"0",
    b"-",
    b"1e5",
    b"null",
    b"true",
    b"\x00",
    b"\xff",
    b"\xc3",
]
ALPHABET += [
    "é".encode(),
    "🙂".encode(),
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b'{"text":"',
    b'","meta":{',
]


@given(st.lists(st.sampled_from(ALPHABET), max_size=40).map(b"".join))
@example(b'{"text":"' + b"x" * 200)
@example(b'{"text":"a\\')
@example(b'{"text":"a","meta":{"b\\')
@example(b'{"text":"a","meta":{"b":"' + "é".encode())
@example(b'{"text":"a","meta":{"a":1}{"b":2}}')
@example(b'{"text":"a","meta":{"a":"\xff"}}')
@example(b'{"text":"\\ud83d"}')
def test_on_any_bytes_it_is_right_or_silent(data: bytes) -> None:
    scanned = by_scanner(data)
    documents, bad = by_general(data)
    if scanned is not None:
        assert scanned == documents
        assert not bad


@given(st.lists(texts, min_size=1, max_size=5), st.data())
def test_a_changed_byte_is_never_misread(strings: list[str], data: st.DataObject) -> None:
    lines = bytearray("".join(json.dumps({"text": s}) + "\n" for s in strings).encode())
    lines[data.draw(st.integers(0, len(lines) - 1))] = data.draw(st.integers(0, 255))
    scanned = by_scanner(bytes(lines))
    if scanned is not None:
        assert (scanned, []) == by_general(bytes(lines))


@given(st.integers(0, 200), st.sampled_from(["\\n", '\\"', "é", "🙂", "\\ud83d\\ude00", ""]))
def test_every_alignment(before: int, special: str) -> None:
    line = f'{{"text":"{"x" * before}{special}{"y" * 70}"}}\n'.encode()
    assert by_scanner(line * 3) == by_general(line * 3)[0]


def test_another_text_key() -> None:
    data = b'{"content":"a","meta":{"b":1}}\n'
    scanned = scan_module.scan(as_piece(data), "content", BufferPool())
    assert scanned is not None
    assert scanned.texts() == ["a"]
    assert scan_module.scan(as_piece(data), "k" * 100, BufferPool()) is None


def test_buffers_that_are_too_small_are_refused() -> None:
    native = scan_module._scan
    with pytest.raises(ValueError, match="too small"):
        native.scan_lines(
            bytearray(200), 190, b'text"', b'meta"', bytearray(16), bytearray(300), bytearray(16)
        )
    with pytest.raises(ValueError, match="too small"):
        native.scan_lines(
            bytearray(200), 100, b'text"', b'meta"', bytearray(16), bytearray(10), bytearray(16)
        )
    with pytest.raises(ValueError, match="outside"):
        native.texts(b"abc", (5).to_bytes(8, "little") + (9).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="outside"):
        native.texts(b"abc", (-1).to_bytes(8, "little", signed=True) + (2).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="one more"):
        native.texts(b"abc", b"")


def test_a_block_that_is_kept_is_not_written_over(shard: Path, documents: list[Document]) -> None:
    kept: list[Block] = list(barrow_blocks(shard))
    assert [d for block in kept for d in block.documents()] == documents


def barrow_blocks(path: Path) -> list[Block]:
    import barrow

    return list(barrow.archive.open(path).blocks())


def test_bad_records_are_found_again_by_the_general_path() -> None:
    data = b'{"text":"a"}\n{"text":3}\n{"text":"c"}\n'
    block, bad = read_block(as_piece(data), FORM, BufferPool())
    assert [d.text for d in block.documents()] == ["a", "c"]
    assert list(block.numbers) == [0, 2]
    assert [error.reason for error in bad] == ["text-not-string"]
