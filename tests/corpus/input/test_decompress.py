"""Streams on their own; truncated, damaged and explosive ones are tried in test_unpack.py."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import pytest
import zstandard

from barrow.corpus.input.decompress import compression, decompress


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_each_is_told_by_its_magic_and_unpacked(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"some text " * 10_000)
    name = compression(packed[:16])
    assert name is not None
    assert b"".join(decompress(io.BytesIO(packed), name)) == b"some text " * 10_000


def test_what_is_not_compressed_goes_by() -> None:
    assert compression(b"plain text") is None
    assert b"".join(decompress(io.BytesIO(b"plain text"), None)) == b"plain text"
