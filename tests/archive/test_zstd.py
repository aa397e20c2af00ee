from __future__ import annotations

import random

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow.archive.format import skippable
from barrow.archive.zstd import FrameScanner, NotZstandard, Span, frame_at, salvage_frames


def compress(data: bytes, *, level: int = 3, checksum: bool = True, size: bool = True) -> bytes:
    return zstandard.ZstdCompressor(
        level=level, write_checksum=checksum, write_content_size=size
    ).compress(data)


frames = st.lists(
    st.one_of(
        st.builds(
            compress,
            st.binary(max_size=400).map(lambda b: b * 900),
            level=st.sampled_from([-5, 1, 3, 12]),
            checksum=st.booleans(),
            size=st.booleans(),
        ),
        st.builds(skippable, st.integers(0x184D2A50, 0x184D2A5F), st.binary(max_size=50)),
    ),
    max_size=5,
)


@given(frames, st.integers(1, 10_000))
def test_boundaries_are_found_whatever_the_pieces(parts: list[bytes], step: int) -> None:
    data = b"".join(parts)
    scanner = FrameScanner()
    for at in range(0, len(data), step):
        scanner.feed(data[at : at + step])
    assert [span.end - span.start for span in scanner.spans] == [len(part) for part in parts]
    assert scanner.at_boundary
    assert scanner.position == len(data)


@given(frames.filter(bool), st.data())
def test_a_cut_is_noticed(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    ends = {sum(map(len, parts[:k])) for k in range(len(parts) + 1)}
    cut = data.draw(st.integers(1, len(whole)))
    scanner = FrameScanner()
    scanner.feed(whole[:cut])
    assert scanner.at_boundary == (cut in ends)


def test_what_is_no_frame_is_said() -> None:
    with pytest.raises(NotZstandard, match="byte 0"):
        FrameScanner().feed(b"PK\x03\x04")


def test_salvage_passes_over_no_whole_frame() -> None:
    parts = [compress(random.Random(k).randbytes(5000) + bytes([k]) * 300_000) for k in range(6)]
    damaged = [bytearray(part) for part in parts]
    damaged[1][3] ^= 0xFF  # its magic
    for position in (20, 21, 22, 23):
        damaged[3][position] ^= 0xFF  # its structure
    damaged[5] = damaged[5][:100]  # cut off
    data = b"".join(map(bytes, damaged))

    def decodes(span: Span) -> bool:
        try:
            zstandard.ZstdDecompressor().decompress(data[span.start : span.end])
        except zstandard.ZstdError:
            return False
        return True

    spans, num_damaged = salvage_frames(data, decodes)
    assert [data[s.start : s.end] for s in spans] == [parts[0], parts[2], parts[4]]
    assert num_damaged == 3


def test_frame_at_a_broken_place() -> None:
    assert frame_at(memoryview(b""), 0) is None
    assert frame_at(memoryview(compress(b"x" * 1000)[:-1]), 0) is None
