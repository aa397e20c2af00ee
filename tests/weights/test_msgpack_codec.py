"""MessagePack, against the library that defines it."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.weights.msgpack_codec import Ext, decode, encode

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False),
    st.text(max_size=40),
    st.binary(max_size=300),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=20),
        st.dictionaries(st.text(max_size=5) | st.integers(-5, 300), inner, max_size=20),
    ),
    max_leaves=30,
)


def no_ext(*_: Any) -> Any:
    raise ValueError("an extension")


def plain(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {key: plain(element) for key, element in value.items()}
    return value


@given(values)
def test_both_ways(value: Any) -> None:
    ours = b"".join(encode(value, ext=no_ext))
    assert ours == msgpack.packb(value)
    assert plain(decode(ours, ext=no_ext)) == value


@pytest.mark.parametrize("size", [0, 15, 16, 31, 32, 255, 256, 65535, 65536])
def test_every_width_of_a_length(size: int) -> None:
    for value in ("x" * size, b"x" * size, [0] * size, dict.fromkeys(range(size))):
        ours = b"".join(encode(value, ext=no_ext))
        assert ours == msgpack.packb(value)
        assert plain(decode(ours, ext=no_ext)) == value


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 8, 16, 17, 255, 256, 65536])
def test_extensions(size: int) -> None:
    data = bytes(size)
    theirs = msgpack.packb(msgpack.ExtType(5, data))
    pieces = (data[: size // 2], memoryview(data)[size // 2 :])
    ours = b"".join(encode(object(), ext=lambda _: Ext(5, pieces)))
    assert ours == theirs
    assert decode(theirs, ext=lambda code, found: (code, bytes(found))) == (5, data)


def test_short_floats_are_read() -> None:
    assert decode(msgpack.packb(0.5, use_single_float=True), ext=no_ext) == 0.5


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "byte 0: 1 bytes expected, 0 left"),
        (b"\xc1", "byte 0: 0xc1 means nothing"),
        (b"\xc0\xc0", "1 bytes after the end of the value"),
        (b"\xdb\xff\xff\xff\xff", "4,294,967,295 bytes expected, 0 left"),
        (b"\xc6\xff\xff\xff\xff", "4,294,967,295 bytes expected"),
        (b"\xc9\xff\xff\xff\xff\1", "4,294,967,295 bytes expected"),
        (b"\xdd\xff\xff\xff\xff", "4,294,967,295 elements cannot be in what is left"),
        (b"\xdf\xff\xff\xff\xff", "4,294,967,295 elements cannot be"),
        (b"\x92" * 100, "more than 64 levels deep"),
        (b"\x81\x90\x00", "a key is a list"),
        (b"\x82\x01\x00\x01\x00", "the key 1 is there twice"),
        (b"\xa1\xff", "utf-8"),
        (b"\xcb\0\0", "8 bytes expected, 2 left"),
    ],
)
def test_bytes_that_lie(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        decode(data, ext=no_ext)


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode(data, ext=lambda code, found: bytes(found))


def test_what_cannot_be_written() -> None:
    for value, words in [(1 << 64, "integers of 64 bits"), ({1.5: 0}, "a key is a string")]:
        with pytest.raises(ValueError, match=words):
            list(encode(value, ext=no_ext))
    huge = memoryview(bytes(1)).cast("B")
    with pytest.raises(ValueError, match="at most 4 GiB"):
        list(encode(object(), ext=lambda _: Ext(1, (_Long(huge),))))  # type: ignore[arg-type]


class _Long:
    """Says that it is five gibibytes."""

    def __init__(self, _: object) -> None:
        pass

    def __len__(self) -> int:
        return 5 << 30


def test_single_floats_by_their_definition() -> None:
    assert decode(b"\xca" + struct.pack(">f", -1.5), ext=no_ext) == -1.5
