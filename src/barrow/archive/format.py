"""The byte layout of a shard: packing and unpacking of every frame.

    shard   = preamble data* index seek_table
    preamble = an empty zstandard frame, and a skippable one that marks a barrow shard, so that
              it must end in an index
    data    = a zstandard frame with content size and checksum: whole JSON lines, about 1 MiB
    index   = skippable frame: documents per data frame, and a hash of all bytes before it
    seek    = skippable frame: the seek table of the Zstandard Seekable Format

The archive page of the documentation gives the layout byte by byte. The empty frame comes first
because several readers of .zst reject a file that begins with a skippable frame.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import xxhash

FRAME_MAGIC = 0xFD2FB528
SKIPPABLE_MAGIC = 0x184D2A50  # to 0x184D2A5F
BARROW_MAGIC = 0x184D2A5B
SEEK_TABLE_MAGIC = 0x184D2A5E
SEEK_FOOTER_MAGIC = 0x8F92EAB1
FRAME_MAGIC_BYTES = FRAME_MAGIC.to_bytes(4, "little")

MARKER_PAYLOAD = b"barrow-shard-v1\n"
INDEX_PAYLOAD = b"barrow-index-v1\n"

# The seek table's fields are 32 bits wide.
MAX_FRAME = 2**32 - 1

_SKIPPABLE_HEADER = struct.Struct("<II")
_INDEX_HEADER = struct.Struct("<16sIQQ")
_ENTRY = struct.Struct("<III")
_FOOTER = struct.Struct("<IBI")
_CHECKSUM_FLAG = 0x80
_HASH = struct.Struct("<Q")


class FormatError(ValueError):
    """The bytes do not follow the layout."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the seek table. `checksum` is the low half of XXH64 of the decompressed bytes."""

    size: int
    content_size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Index:
    """Documents in each data frame, and XXH64 of every byte before the index frame."""

    documents: tuple[int, ...]
    hash_before: int


def content_checksum(data: bytes | bytearray | memoryview) -> int:
    """What the seek table stores for a frame with this content."""
    return xxhash.xxh64_intdigest(data) & 0xFFFFFFFF


def skippable(magic: int, payload: bytes) -> bytes:
    """A skippable frame."""
    return _SKIPPABLE_HEADER.pack(magic, len(payload)) + payload


# Empty content, compressed: size 0, one empty last block, checksum of nothing.
EMPTY_FRAME = bytes.fromhex("28b52ffd240001000099e9d851")
MARKER = skippable(BARROW_MAGIC, MARKER_PAYLOAD)
PREAMBLE = EMPTY_FRAME + MARKER


def pack_index(index: Index) -> bytes:
    """The index frame."""
    payload = _INDEX_HEADER.pack(
        INDEX_PAYLOAD, len(index.documents), sum(index.documents), index.hash_before
    ) + struct.pack(f"<{len(index.documents)}I", *index.documents)
    return skippable(BARROW_MAGIC, payload + _HASH.pack(xxhash.xxh64_intdigest(payload)))


def unpack_index(frame: bytes) -> Index:
    """Read an index frame, checking its own hash."""
    if len(frame) < _SKIPPABLE_HEADER.size + _INDEX_HEADER.size + _HASH.size:
        raise FormatError("the index is too short")
    magic, size = _SKIPPABLE_HEADER.unpack_from(frame)
    payload, stored = frame[_SKIPPABLE_HEADER.size : -_HASH.size], frame[-_HASH.size :]
    if magic != BARROW_MAGIC or size != len(payload) + _HASH.size:
        raise FormatError("no index before the seek table")
    if _HASH.pack(xxhash.xxh64_intdigest(payload)) != stored:
        raise FormatError("the index does not match its own checksum")
    word, num_frames, num_documents, hash_before = _INDEX_HEADER.unpack_from(payload)
    if word != INDEX_PAYLOAD:
        raise FormatError(f"unknown kind of index {word!r}; a newer barrow may read it")
    if len(payload) != _INDEX_HEADER.size + 4 * num_frames:
        raise FormatError("the index does not have the length it declares")
    documents = struct.unpack_from(f"<{num_frames}I", payload, _INDEX_HEADER.size)
    if sum(documents) != num_documents:
        raise FormatError("the counts in the index do not add up")
    return Index(documents=documents, hash_before=hash_before)


def pack_seek_table(entries: Sequence[Entry]) -> bytes:
    """The seek table frame."""
    rows = b"".join(_ENTRY.pack(e.size, e.content_size, e.checksum) for e in entries)
    footer = _FOOTER.pack(len(entries), _CHECKSUM_FLAG, SEEK_FOOTER_MAGIC)
    return skippable(SEEK_TABLE_MAGIC, rows + footer)


def seek_table_size(tail: bytes, file_size: int) -> int:
    """Size of the seek table frame, from the last bytes of a file; 0 without one."""
    if len(tail) < _FOOTER.size:
        return 0
    num_frames, flags, magic = _FOOTER.unpack_from(tail, len(tail) - _FOOTER.size)
    if magic != SEEK_FOOTER_MAGIC:
        return 0
    row = _ENTRY.size if flags & _CHECKSUM_FLAG else _ENTRY.size - 4
    size = int(_SKIPPABLE_HEADER.size + num_frames * row + _FOOTER.size)
    if size > file_size:
        raise FormatError(f"the seek table claims {num_frames:,} frames, more than the file holds")
    return size


def unpack_seek_table(frame: bytes) -> list[Entry]:
    """Read a seek table frame."""
    magic, size = _SKIPPABLE_HEADER.unpack_from(frame)
    num_frames, flags, _ = _FOOTER.unpack_from(frame, len(frame) - _FOOTER.size)
    if magic != SEEK_TABLE_MAGIC or size != len(frame) - _SKIPPABLE_HEADER.size:
        raise FormatError("the seek table does not begin where its footer says")
    if flags != _CHECKSUM_FLAG:
        raise FormatError("the seek table has no checksums")
    rows = frame[_SKIPPABLE_HEADER.size : _SKIPPABLE_HEADER.size + num_frames * _ENTRY.size]
    return [Entry(*row) for row in _ENTRY.iter_unpack(rows)]
