"""Hashes of bytes: the same for the same bytes, wherever they lie."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.kernels.byte_hashes import bytes_at, hash_bytes
from barrow.corpus.kernels.word_hashes import eight_byte_view


def hash_of(data: bytes, before: bytes = b"", after: bytes = b"") -> int:
    text = np.frombuffer(before + data + after, np.uint8)
    first, end = np.uint64(len(before)), np.uint64(len(before) + len(data))
    return int(hash_bytes(text, eight_byte_view(text), first, end))


@given(st.binary(max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_only_the_bytes_count(data: bytes, before: bytes, after: bytes) -> None:
    assert hash_of(data) == hash_of(data, before, after)


def test_different_bytes_differ() -> None:
    runs = {bytes([value]) * size for value in (0, 1, 32, 97, 255) for size in range(40)}
    runs |= {f"{word}{number}".encode() for word in ("", "word", "é" * 9) for number in range(2000)}
    assert len({hash_of(run) for run in runs}) == len(runs)


def test_the_same_change_twice_does_not_cancel() -> None:
    runs = {bytes([0] * 7 + [a] + [0] * 7 + [b]) for a in range(256) for b in range(256)}
    assert len({hash_of(run) for run in runs}) == 1 << 16


def test_zeros_after_the_end_of_the_buffer() -> None:
    text = np.frombuffer(b"0123456789", np.uint8)
    eights = eight_byte_view(text)
    for at in range(11):
        value = int(bytes_at(text, eights, np.uint64(at)))
        assert value.to_bytes(8, "little") == b"0123456789"[at : at + 8].ljust(8, b"\0")
