"""Decompression in bounded steps, for untrusted files.

Decompressors of the standard library expand all their input at once, and those of zstandard accept
a truncated file. Here a step gives at most 64 KiB; a truncated stream, unexpected bytes after it,
and output over a limit are errors.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, cast

import zstandard

from barrow.archive.zstd import FrameScanner, NotZstandard
from barrow.corpus.readers.reader import Reject

_READ = 1 << 17
_STEP = 1 << 16
# Small files may be repetitive; the ratio counts from here on.
_RATIO_FROM = 1 << 26
# Memory of a decompressor: xz -9 needs 65 MiB, zstd -19 --long 128.
_MAX_WINDOW = 1 << 27

Pieces = Iterator[bytes]


class BadArchive(ValueError):
    """A packed file cannot be read from here on; `reason` is a name to count by.

    ``unreadable``, ``empty``, ``not-an-archive``, ``unsupported``, ``truncated``, ``corrupt`` or
    ``bomb``.
    """

    def __init__(self, cause: str, *, reason: str) -> None:
        self.cause = cause
        self.reason = reason
        super().__init__(cause)

    def as_reject(self, member: str = "") -> Reject:
        """The same as a reject."""
        return Reject(self.reason, self.cause, member)


class Readable(Protocol):
    """Where compressed bytes come from."""

    def read(self, size: int, /) -> bytes: ...


class PieceFile(io.BufferedIOBase):
    """Pieces of bytes as a file to read.

    An error after some bytes of a call is raised by the next call, so that reading in pieces or
    lines loses nothing before it. Reading all at once raises.
    """

    def __init__(self, pieces: Pieces, close: Callable[[], None] = lambda: None) -> None:
        self._pieces = pieces
        self._close = close
        self._held = b""
        self._at = 0
        self._error: BadArchive | None = None
        self._ended = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._close()

    def _fill(self, *, may_raise: bool) -> bool:
        """Fill the buffer; False at the end, or at an error that is raised later."""
        if self.closed:
            raise ValueError("read of a closed file")
        while self._at == len(self._held) and not self._ended and self._error is None:
            try:
                self._held, self._at = next(self._pieces), 0
            except StopIteration:
                self._ended = True
            except BadArchive as error:
                self._error = error
        if self._at < len(self._held):
            return True
        if self._error is not None and may_raise:
            raise self._error
        return False

    def _take(self, size: int) -> bytes:
        data = self._held[self._at : self._at + size]
        self._at += len(data)
        return data

    def read(self, size: int | None = -1, /) -> bytes:
        if size == 0:
            return b""
        everything = size is None or size < 0
        left = 0 if size is None else size
        taken: list[bytes] = []
        while (everything or left) and self._fill(may_raise=everything or not taken):
            taken.append(self._take(len(self._held) if everything else left))
            left -= len(taken[-1])
        return b"".join(taken)

    def read1(self, size: int = -1, /) -> bytes:
        if size == 0 or not self._fill(may_raise=True):
            return b""
        return self._take(size if size > 0 else len(self._held))

    def readline(self, size: int | None = -1, /) -> bytes:
        left = -1 if size is None or size < 0 else size
        taken: list[bytes] = []
        while left and self._fill(may_raise=not taken):
            end = self._held.find(b"\n", self._at) + 1
            length = (end or len(self._held)) - self._at
            data = self._take(length if left < 0 else min(length, left))
            taken.append(data)
            left -= len(data) if left > 0 else 0
            if data.endswith(b"\n"):
                break
        return b"".join(taken)


class _Codec(Protocol):
    """What bz2 and lzma offer, and zlib is made to."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


def _xz() -> _Codec:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MAX_WINDOW)


_STREAMS: dict[str, tuple[bytes, Callable[[], _Codec]]] = {
    "gzip": (b"\x1f\x8b", lambda: _Zlib(31)),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
    "xz": (b"\xfd7zXZ\x00", _xz),
    "deflate": (b"", lambda: _Zlib(-15)),  # inside zip, which has the size
}


def compression(head: bytes) -> str | None:
    """The compression that begins with these bytes (six are enough), or None."""
    for name, (magic, _) in _STREAMS.items():
        if magic and head.startswith(magic):
            return name
    is_skippable = head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50
    return "zstandard" if head.startswith(b"\x28\xb5\x2f\xfd") or is_skippable else None


def decompress(source: Readable, name: str | None) -> Pieces:
    """The bytes of a compressed source in pieces; None for the bytes as they are."""
    if name is None:
        return iter(lambda: source.read(_STEP), b"")
    if name == "zstandard":
        return _zstandard(source)
    return _streams(source, name)


def _streams(source: Readable, name: str) -> Pieces:
    """Streams of one kind one after another, with zeros between them as tape blocks have."""
    magic, new = _STREAMS[name]
    data = source.read(_READ)
    while data:
        codec = new()
        try:
            while not codec.eof:
                if piece := codec.decompress(data, _STEP):
                    yield piece
                data = source.read(_READ) if codec.needs_input and not codec.eof else b""
                # Without input the codec may still flush output; no output is the end.
                if not data and not piece and codec.needs_input and not codec.eof:
                    raise BadArchive(f"ends in the middle of the {name} data", reason="truncated")
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, MemoryError) as error:
            if isinstance(error, BadArchive):
                raise
            cause = f"does not decompress as {name} ({error})"
            raise BadArchive(cause, reason="corrupt") from None
        data = codec.unused_data.lstrip(b"\0")
        while not data and (data := source.read(_READ)):
            data = data.lstrip(b"\0")
        if data and len(data) < len(magic):
            data += source.read(_READ)
        if data and not (magic and data.startswith(magic)):
            raise BadArchive(f"unexpected bytes after the {name} data", reason="corrupt")


class Frames:
    """Input for zstandard: up to the end of the current frame, then of the next.

    A decompressor that meets damage loses its last step, so each frame has its own.
    """

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._scanner = FrameScanner()
        self._held = b""
        self._held_from = 0
        self._at = 0
        self.problem: NotZstandard | None = None

    @property
    def position(self) -> int:
        """How many bytes of the source were consumed."""
        return self._held_from + self._at

    def read(self, size: int = -1, /) -> bytes:
        spans = self._scanner.spans
        if self._at == len(self._held) and (spans or not self._fill()):
            return b""
        end = spans[0].end - self._held_from if spans else len(self._held)
        data = self._held[self._at : end if size < 0 else min(end, self._at + size)]
        self._at += len(data)
        return data

    def _fill(self) -> bool:
        if self.problem is not None:
            return False
        self._held_from = self._scanner.position
        self._held, self._at = self._source.read(_READ), 0
        try:
            self._scanner.feed(self._held)
        except NotZstandard as problem:
            self.problem = problem
            self._held = self._held[: max(0, problem.position - self._held_from)]
        return bool(self._held)

    def end_frame(self) -> bool:
        """Skip the rest of the current frame; False if it has no end."""
        while self.read(_READ):
            pass
        return bool(self._scanner.spans) and bool(self._scanner.spans.pop(0))

    def has_more(self) -> bool:
        """Whether another frame begins."""
        return self._at < len(self._held) or self._fill()


def _zstandard(source: Readable) -> Pieces:
    zstd = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    frames = Frames(source)
    while frames.has_more():
        reader = zstd.stream_reader(cast(BinaryIO, frames), read_size=_READ)
        try:
            while data := reader.read(_STEP):
                yield data
        except (zstandard.ZstdError, MemoryError) as error:
            cause = f"does not decompress as zstandard ({str(error).rsplit(': ', 1)[-1]})"
            raise BadArchive(cause, reason="corrupt") from None
        if not frames.end_frame():
            break
    else:
        if frames.problem is None:
            return
    if frames.problem is not None:
        raise BadArchive(str(frames.problem), reason="corrupt")
    raise BadArchive("ends in the middle of a zstandard frame", reason="truncated")


def bounded(
    pieces: Pieces,
    *,
    max_bytes: int,
    max_ratio: float,
    num_read: Callable[[], int],
    already: int = 0,
) -> Pieces:
    """The same pieces, up to the limits, counting what was unpacked `already`.

    `num_read` says how many bytes they came from.
    """
    total = already
    for piece in pieces:
        total += len(piece)
        if total > max_bytes:
            yield piece[: max(0, max_bytes - total + len(piece))]
            raise BadArchive(f"unpacks to more than {max_bytes:,} bytes", reason="bomb")
        if total > _RATIO_FROM and total > max_ratio * max(1, num_read()):
            raise BadArchive(f"unpacks to more than {max_ratio:,} times its size", reason="bomb")
        yield piece
