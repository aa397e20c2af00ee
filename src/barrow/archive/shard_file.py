"""From documents to the bytes of a shard: lines, frames, a file under a temporary name."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import xxhash
import zstandard

from barrow.ahead import Ahead
from barrow.archive import format as layout
from barrow.archive.catalog import ShardEntry
from barrow.archive.document import Document
from barrow.errors import BadRecord
from barrow.files import AtomicFile


class FrameBuffer:
    """JSON lines of the frame being filled."""

    def __init__(self, frame_size: int, max_document: int) -> None:
        self._encoder = msgspec.json.Encoder()
        self._lines = bytearray()
        self._frame_size = frame_size
        self._max_document = max_document
        self.num_documents = 0

    @property
    def is_full(self) -> bool:
        return len(self._lines) >= self._frame_size

    def add(self, document: Document, shard: str, number: int) -> None:
        if not isinstance(document, Document):
            raise TypeError(f"expected a barrow.Document, got {type(document).__name__}")
        lines = self._lines
        start = len(lines)
        text: object = document.text  # annotations are not checked when a Document is made
        meta: object = document.meta
        try:
            if not isinstance(text, str):
                kind = type(text).__name__
                raise _Refused("text-not-string", f"text must be a str, got {kind}")
            if not isinstance(meta, dict):
                kind = type(meta).__name__
                raise _Refused("meta-not-object", f"meta must be a dict, got {kind}")
            if set(map(type, meta)) != {str} and not all(isinstance(key, str) for key in meta):
                raise _Refused("not-json", "the keys of meta must be strings")
            self._encoder.encode_into(document, lines, -1)
            size = len(lines) - start
            if size > self._max_document:
                raise _Refused("too-long", f"{size:,} bytes, over the limit {self._max_document:,}")
            # The text comes first, and takes at least a byte for each character.
            after = start + len(text)
            if lines.find(b"\n", after) >= 0:
                raise _Refused("not-json", "meta holds raw JSON with a line break")
            # JSON has no NaN, and the encoder writes null for it: check where a null was written.
            if lines.find(b"null", after) >= 0 and (key := _not_finite(document.meta)) is not None:
                raise _Refused("not-finite", f"meta {key} is not a finite number")
        except (_Refused, TypeError, ValueError, RecursionError) as error:
            del lines[start:]
            raise _refusal(error, shard, number) from None
        lines.append(0x0A)
        self.num_documents += 1

    def add_line(self, line: bytes) -> None:
        self._lines += line
        self._lines.append(0x0A)
        self.num_documents += 1

    def take(self) -> tuple[bytes, int]:
        content, num_documents = bytes(self._lines), self.num_documents
        self._lines.clear()
        self.num_documents = 0
        return content, num_documents


class _Refused(Exception):
    def __init__(self, reason: str, cause: str) -> None:
        super().__init__(cause)
        self.reason = reason


def _refusal(error: Exception, shard: str, number: int) -> BadRecord:
    """What `add` raises when a document cannot be written."""
    if isinstance(error, _Refused):
        reason, cause = error.reason, str(error)
    elif isinstance(error, UnicodeEncodeError):
        reason = "unpaired-surrogate"
        cause = (
            f"an unpaired surrogate (U+{ord(error.object[error.start]):04X}) is not text; replace "
            "it first: text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    else:
        reason, cause = "not-json", f"meta cannot be written as JSON ({error})"
    return BadRecord(cause, reason=reason, shard=shard, document=number, num_documents=1)


def _not_finite(value: Any, path: str = "") -> str | None:
    """Path of a NaN or infinity inside a JSON-like value."""
    if isinstance(value, float):
        return None if math.isfinite(value) else path or "value"
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        items = enumerate(value)
    for key, inner in items:
        if (found := _not_finite(inner, f"{path}[{key!r}]")) is not None:
            return found
    return None


class Frame(msgspec.Struct, frozen=True):
    compressed: bytes
    content_size: int
    checksum: int
    num_documents: int


class _ThreadCompressor(threading.local):
    def __init__(self, level: int) -> None:
        self.zstd = zstandard.ZstdCompressor(
            level=level, write_checksum=True, write_content_size=True
        )


class Compression:
    """Frames compressed here or on threads, and returned in order."""

    def __init__(self, level: int, threads: int) -> None:
        compressor = _ThreadCompressor(level)

        def compress(task: tuple[bytes, int]) -> Frame:
            content, num_documents = task
            checksum = layout.content_checksum(content)
            compressed = compressor.zstd.compress(content)
            return Frame(compressed, len(content), checksum, num_documents)

        self._compress = compress
        self._ahead = Ahead(compress, threads=threads) if threads > 1 else None
        self._most_waiting = 2 * threads
        self._finished: list[Frame] = []
        self.start_shard()

    def start_shard(self) -> None:
        self.content_bytes = 0
        self.num_documents = 0

    def put(self, content: bytes, num_documents: int) -> None:
        self.content_bytes += len(content)
        self.num_documents += num_documents
        if self._ahead is None:
            self._finished.append(self._compress((content, num_documents)))
        else:
            self._ahead.put((content, num_documents))

    def ready(self) -> list[Frame]:
        """Frames that are done; waits if more are queued than the threads can work on."""
        while self._ahead is not None and len(self._ahead) > self._most_waiting:
            self._finished.append(next(self._ahead))
        finished, self._finished = self._finished, []
        return finished

    def all(self) -> list[Frame]:
        """Every frame put so far."""
        self._finished += self._ahead or ()
        return self.ready()

    def close(self) -> None:
        """Stop the threads; frames that were not taken are dropped."""
        if self._ahead is not None:
            self._ahead.close()
        self._finished.clear()


class ShardFile:
    """A shard being written, under a temporary name until `finish`."""

    def __init__(self, path: Path, *, replace: bool, hashed: bool = True) -> None:
        self._replace = replace
        self._file = AtomicFile(path, hashed=hashed)
        self._xxh64 = xxhash.xxh64()
        self._entries: list[layout.Entry] = []
        self._documents: list[int] = []
        self._put(layout.EMPTY_FRAME)
        self._put(layout.MARKER)

    def add(self, frame: Frame) -> None:
        self._put(frame.compressed, frame.content_size, frame.checksum)
        self._documents.append(frame.num_documents)

    def _put(self, data: bytes, content_size: int = 0, checksum: int = 0) -> None:
        self._entries.append(layout.Entry(len(data), content_size, checksum))
        self._write(data)

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._xxh64.update(data)

    def finish(self) -> ShardEntry:
        """Write index and seek table, sync to disk, and rename the shard."""
        hash_before = self._xxh64.intdigest()
        self._put(layout.pack_index(layout.Index(tuple(self._documents), hash_before)))
        self._write(layout.pack_seek_table(self._entries))
        written = self._file.publish(replace=self._replace)
        return ShardEntry(
            name=written.path.name,
            documents=sum(self._documents),
            bytes=written.num_bytes,
            content_bytes=sum(entry.content_size for entry in self._entries),
            xxh64=f"{hash_before:016x}",
            sha256=written.sha256,
        )

    def remove(self) -> None:
        self._file.discard()
