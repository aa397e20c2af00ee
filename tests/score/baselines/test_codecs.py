"""Sizes of compressed texts, against what other callers of the same libraries write."""

from __future__ import annotations

import itertools
import lzma
import random
import sys

import brotli as brotli_library
import pyppmd
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import MissingExtra
from barrow.score.baselines.codecs import CODECS, Codec, named_codec

WORDS = ["barrow", "mound", "stone", "the", "of", "naïve", "carries", "raised"]


def text(num_words: int, seed: int = 0) -> bytes:
    return " ".join(random.Random(seed).choices(WORDS, k=num_words)).encode()


def size(codec: Codec, data: bytes) -> int:
    return codec.measure([data], len(data))


@pytest.mark.parametrize("data", [b"a", text(20), text(3000), random.Random(0).randbytes(5000)])
def test_zstd_counts_the_blocks_alone(data: bytes) -> None:
    """A frame as others write it: magic 4, descriptor 1, window 1 or content size, then blocks."""
    plain = zstandard.ZstdCompressor(level=19, write_content_size=True).compress(data)
    header = zstandard.frame_header_size(plain)
    assert size(named_codec("zstd:19"), data) == len(plain) - header


def test_zstd_frames_of_many_blocks() -> None:
    """The blocks are walked, as the format's description has them."""
    data = text(60_000)
    plain = zstandard.ZstdCompressor(level=3).compress(data)
    at, blocks, last = zstandard.frame_header_size(plain), 0, False
    while not last:
        head = int.from_bytes(plain[at : at + 3], "little")
        last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
        at, blocks = at + 3 + (1 if kind == 1 else length), blocks + 1
    assert blocks > 1
    assert at == len(plain)
    assert size(named_codec("zstd:3"), data) == len(plain) - zstandard.frame_header_size(plain)


@pytest.mark.parametrize("data", [b"a", text(20), text(3000), random.Random(0).randbytes(5000)])
def test_xz_is_raw_lzma2(data: bytes) -> None:
    """An .xz file of the same: header 12, block header 12, padding to 4, no check, index, footer.

    Its block is the raw stream; the preset's own dictionary of 64 MiB makes no difference.
    """
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    raw = lzma.compress(data, lzma.FORMAT_RAW, filters=filters)
    assert lzma.decompress(raw, lzma.FORMAT_RAW, filters=filters) == data
    assert size(named_codec("xz"), data) == len(raw)
    file = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME, check=lzma.CHECK_NONE)
    assert 0 <= len(file) - len(raw) - (12 + 12 + 12 + 8) < 8


def test_brotli_is_its_own_stream() -> None:
    data = text(2000)
    assert size(named_codec("brotli"), data) == len(
        brotli_library.compress(data, quality=11, lgwin=24)
    )
    assert size(named_codec("brotli:1"), data) > size(named_codec("brotli"), data)


def test_ppmd_has_neither_header_nor_end_mark() -> None:
    data = text(2000)
    encoder = pyppmd.Ppmd8Encoder(16, 64 << 20)
    stream = encoder.encode(data) + encoder.flush(endmark=False)
    decoder = pyppmd.Ppmd8Decoder(16, 64 << 20)
    assert decoder.decode(stream, len(data)) == data
    assert size(named_codec("ppmd"), data) == len(stream)


@pytest.mark.parametrize("name", ["zstd:19", "xz", "brotli:9", "ppmd"])
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 3000), max_size=4))
def test_pieces_are_one_text(name: str, cuts: list[int]) -> None:
    data = text(500)
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    codec = named_codec(name)
    assert codec.measure(pieces, len(data)) == size(codec, data)


@pytest.mark.parametrize("name", ["zstd", "xz", "brotli", "ppmd"])
def test_defaults_are_the_strongest(name: str) -> None:
    assert size(named_codec(name), text(3000)) < len(text(3000)) / 3
    assert named_codec(name).library.split()[1][0].isdigit()


def test_names_and_settings() -> None:
    assert named_codec("zstd").name == "zstd:19"
    assert named_codec("zstd:3").settings == {"level": 3}
    assert [named_codec(f"xz{level}").name for level in ("", ":9e", ":6")] == ["xz", "xz", "xz:6"]
    assert named_codec("brotli:5").name == "brotli:5"
    assert named_codec("ppmd:6").settings["order"] == 6
    assert set(CODECS) == {"zstd", "xz", "brotli", "ppmd"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gzip", "no compressor 'gzip'; there are zstd, xz, brotli, ppmd"),
        ("zstd:23", "zstd takes a number from 1 to 22, as zstd:22, got '23'"),
        ("zstd:0", "from 1 to 22"),
        ("zstd:", "got ''"),
        ("xz:9x", "xz takes a number from 0 to 9"),
        ("brotli:-1", "from 0 to 11"),
        ("brotli:²", "from 0 to 11"),
        ("ppmd:1", "from 2 to 64"),
    ],
)
def test_wrong_names(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        named_codec(name)


@pytest.mark.parametrize(("name", "library"), [("brotli", "brotli"), ("ppmd", "pyppmd")])
def test_a_library_that_is_not_there(
    name: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    words = rf"scoring with {name} needs {library}: pip install '.\[compressors\]'"
    with pytest.raises(MissingExtra, match=words):
        named_codec(name)
