"""The bytes of a raw file, decompressed as they go by."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from barrow.archive.decompress import in_words
from barrow.archive.foreign import is_zstandard
from barrow.archive.zstd_frames import FrameScanner, NotZstandard

# Small, because a decompressor gives nothing of a step in which it meets damage.
_STEP = 1 << 16


class BadFile(ValueError):
    """The file cannot be read, or no further; a reason to count by, and the message in words.

    Reasons: `unreadable`, `empty-file`, `corrupt`, `truncated`.
    """

    def __init__(self, reason: str, cause: str) -> None:
        self.reason = reason
        super().__init__(cause)


def decompressed(path: Path) -> Iterator[bytes]:
    """Pieces of at most 64 KiB of a plain, gzip, bzip2 or zstandard file, told apart by content.

    Raises `BadFile` at the first thing wrong, after what precedes it.
    """
    try:
        # Neither a folder nor a pipe or device, which might never end.
        if not path.is_file():
            raise BadFile("unreadable", "expected a regular file; there is none of this name")
        with path.open("rb") as file:
            head = file.read(4)
            file.seek(0)
            if not head:
                raise BadFile("empty-file", "the file holds nothing at all")
            yield from _by_magic(file, head)
    except (OSError, ValueError) as error:
        if isinstance(error, BadFile):
            raise
        cause = getattr(error, "strerror", None) or str(error)
        raise BadFile("unreadable", f"cannot be read ({cause})") from error


def _by_magic(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    try:
        if head.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield from iter(lambda: unpacked.read1(_STEP), b"")
        elif head.startswith(b"BZh"):
            yield from _bzip2(file)
        elif is_zstandard(head):
            yield from _zstandard(file)
        else:
            yield from iter(lambda: file.read(_STEP), b"")
    except EOFError as error:
        raise BadFile("truncated", "the file ends in the middle of its compressed data") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BadFile("corrupt", f"does not decompress ({error})") from error


def _bzip2(file: BinaryIO) -> Iterator[bytes]:
    with bz2.BZ2File(file) as unpacked:
        while True:
            try:
                data = unpacked.read1(_STEP)
            except OSError as error:
                if error.errno is not None:  # the disk's; bzip2's own have no number
                    raise
                raise BadFile("corrupt", f"does not decompress ({error})") from error
            if not data:
                return
            yield data


class _Followed:
    """A zstandard file up to where its frames end, and what is wrong there.

    The library ends in silence where a file stops in the middle of a frame, and gives nothing of
    the step in which it meets something that is no frame.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frames = FrameScanner()
        self._position = 0
        self._garbage: str | None = None

    def read(self, size: int = -1) -> bytes:
        if self._garbage is not None:
            return b""
        data = self._file.read(size)
        try:
            self._frames.feed(data)
        except NotZstandard as error:
            self._garbage = str(error)
            data = data[: max(0, error.position - self._position)]
        self._position += len(data)
        return data

    def check(self) -> None:
        if self._garbage is not None:
            raise BadFile("corrupt", self._garbage)
        if not self._frames.at_boundary:
            raise BadFile("truncated", "the file ends in the middle of a zstandard frame")


def _zstandard(file: BinaryIO) -> Iterator[bytes]:
    followed = _Followed(file)
    reader = zstandard.ZstdDecompressor().stream_reader(
        cast(BinaryIO, followed), read_size=_STEP, read_across_frames=True
    )
    try:
        yield from iter(lambda: reader.read(_STEP), b"")
    except zstandard.ZstdError as error:
        raise BadFile("corrupt", f"does not decompress ({in_words(error)})") from error
    followed.check()


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002 - as many as the next piece holds
        return next(self._pieces, b"")


def open_decompressed(path: Path) -> BinaryIO:
    """The same as a file to be read from the front, for those who want one."""
    return cast(BinaryIO, _Pieces(decompressed(path)))
