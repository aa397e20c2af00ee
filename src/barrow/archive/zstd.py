"""Where zstandard frames begin and end, from the compressed bytes alone.

The stream readers of the zstandard library return what they have when a file stops in the middle of
a frame, as if it had ended there. A `FrameScanner` fed with the same bytes tells the difference. It
follows the headers of frames and blocks (RFC 8878, section 3) and skips what they announce.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from dataclasses import dataclass

import zstandard

from barrow.archive.format import FRAME_MAGIC, FRAME_MAGIC_BYTES, SKIPPABLE_MAGIC


@dataclass(frozen=True, slots=True)
class Span:
    """A frame's place in the file."""

    start: int
    end: int
    skippable: bool


class NotZstandard(ValueError):
    """A frame should begin at `position` and does not."""

    def __init__(self, position: int, found: bytes) -> None:
        self.position = position
        super().__init__(f"no zstandard frame at byte {position:,} (found {found[:4].hex(' ')})")


class FrameScanner:
    """Follows frame boundaries in bytes fed piece by piece; `spans` lists the frames completed."""

    def __init__(self, position: int = 0) -> None:
        self.spans: list[Span] = []
        self._position = position
        self._start = position
        self._skip = 0
        self._need = 4
        self._header = bytearray()
        self._step = self._magic
        self._has_checksum = False

    @property
    def at_boundary(self) -> bool:
        """Whether the bytes so far end where a frame ends."""
        return self._step == self._magic and not self._header and not self._skip

    @property
    def position(self) -> int:
        """Bytes followed so far."""
        return self._position

    def feed(self, data: bytes | memoryview) -> None:
        """Follow some more bytes."""
        at, size = 0, len(data)
        while at < size:
            if self._skip:
                step = min(self._skip, size - at)
                self._skip -= step
            else:
                step = min(self._need - len(self._header), size - at)
                self._header += data[at : at + step]
            at += step
            self._position += step
            while not self._skip and len(self._header) == self._need:
                header, self._header = bytes(self._header), bytearray()
                self._step(header)

    def _expect(self, step: object, need: int, skip: int = 0) -> None:
        self._step, self._need, self._skip = step, need, skip  # type: ignore[assignment]

    def _magic(self, header: bytes) -> None:
        self._start = self._position - 4
        magic = int.from_bytes(header, "little")
        if magic == FRAME_MAGIC:
            self._expect(self._descriptor, 1)
        elif magic & 0xFFFFFFF0 == SKIPPABLE_MAGIC:
            self._expect(self._skippable_size, 4)
        else:
            raise NotZstandard(self._start, header)

    def _skippable_size(self, header: bytes) -> None:
        self._expect(self._skippable_end, 0, int.from_bytes(header, "little"))

    def _skippable_end(self, _: bytes) -> None:
        self._finish(skippable=True)

    def _descriptor(self, header: bytes) -> None:
        descriptor = header[0]
        single_segment = bool(descriptor & 0x20)
        self._has_checksum = bool(descriptor & 0x04)
        content_size_bytes = (1 if single_segment else 0, 2, 4, 8)[descriptor >> 6]
        dictionary_bytes = (0, 1, 2, 4)[descriptor & 3]
        window_bytes = 0 if single_segment else 1
        self._expect(self._block, 3, window_bytes + dictionary_bytes + content_size_bytes)

    def _block(self, header: bytes) -> None:
        value = int.from_bytes(header, "little")
        last, kind, size = value & 1, value >> 1 & 3, value >> 3
        if kind == 3:
            raise NotZstandard(self._position - 3, header)
        stored = 1 if kind == 1 else size
        if not last:
            self._expect(self._block, 3, stored)
        else:
            self._expect(self._frame_end, 0, stored + (4 if self._has_checksum else 0))

    def _frame_end(self, _: bytes) -> None:
        self._finish(skippable=False)

    def _finish(self, *, skippable: bool) -> None:
        self.spans.append(Span(self._start, self._position, skippable))
        self._expect(self._magic, 4)


def frame_at(data: memoryview, start: int) -> Span | None:
    """The frame that begins at `start`, or None if its structure is broken or cut off."""
    scanner = FrameScanner(start)
    piece = 1 << 18
    try:
        for at in range(start, len(data), piece):
            scanner.feed(data[at : at + piece])
            if scanner.spans:
                break
    except NotZstandard:
        pass  # what follows the frame is not asked here
    return scanner.spans[0] if scanner.spans else None


def salvage_frames(
    data: bytes | mmap.mmap, decodes: Callable[[Span], bool]
) -> tuple[list[Span], int]:
    """The data frames that still decode in damaged bytes, and how many places between them do not.

    Sizes inside a damaged frame cannot be trusted, so every frame magic is tried until a frame that
    begins there decodes; no intact frame is missed. Whole skippable frames between data frames do
    not count as damage.
    """
    spans: list[Span] = []
    num_damaged = 0
    with memoryview(data) as view:
        expected = at = 0  # a frame should begin at `expected`; look for one from `at`
        while (found := data.find(FRAME_MAGIC_BYTES, at)) >= 0:
            span = frame_at(view, found)
            if span is None or not decodes(span):
                at = found + 1
                continue
            num_damaged += not _only_skippable(view, expected, found)
            spans.append(span)
            expected = at = span.end
        num_damaged += not _only_skippable(view, expected, len(view))
    return spans, num_damaged


def _only_skippable(data: memoryview, start: int, end: int) -> bool:
    """Whether there are only whole skippable frames."""
    scanner = FrameScanner(start)
    try:
        scanner.feed(data[start:end])
    except NotZstandard:
        return False
    return scanner.at_boundary and all(span.skippable for span in scanner.spans)


class _ThreadDecompressor(threading.local):
    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


thread_decompressor = _ThreadDecompressor()


def in_words(error: Exception) -> str:
    """The cause in the library's message, with a remedy where there is one."""
    cause = str(error).rsplit(": ", 1)[-1].lower()
    if "too much memory" in cause:
        cause += "; written with a window over 128 MiB, which `zstd -d --long=31` unpacks"
    return cause
