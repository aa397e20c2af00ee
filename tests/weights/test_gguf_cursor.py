from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import WeightsError
from barrow.weights.gguf_cursor import Cursor
from barrow.weights.mapped_file import MappedFile


def cursor(tmp_path: Path, data: bytes) -> Cursor:
    (tmp_path / "x").write_bytes(data)
    return Cursor(MappedFile(tmp_path / "x"))


def array(kind: int, count: int, data: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + data


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (0, b"\xff", 255),
        (1, b"\xff", -1),
        (2, b"\1\2", 513),
        (3, b"\xfe\xff", -2),
        (4, b"\0\0\0\x80", 1 << 31),
        (5, b"\0\0\0\x80", -(1 << 31)),
        (6, struct.pack("<f", 0.5), 0.5),
        (7, b"\1", True),
        (8, b"\2\0\0\0\0\0\0\0ab", "ab"),
        (10, b"\xff" * 8, (1 << 64) - 1),
        (11, b"\xff" * 8, -1),
        (12, struct.pack("<d", 0.1), 0.1),
        (9, array(8, 2, b"\1\0\0\0\0\0\0\0a" + b"\0" * 8), ["a", ""]),
        (9, array(7, 2, b"\0\1"), [False, True]),
        (9, array(9, 1, array(8, 0)), [[]]),
    ],
)
def test_values(tmp_path: Path, kind: int, data: bytes, expected: Any) -> None:
    place = cursor(tmp_path, data)
    found = place.value(kind, "it")
    assert found == expected
    assert type(found) is type(expected)
    assert place.at == len(data)


def test_arrays_of_numbers_are_numpy_arrays(tmp_path: Path) -> None:
    found = cursor(tmp_path, array(3, 3, np.arange(3, dtype="<i2").tobytes())).value(9, "it")
    assert found.tolist() == [0, 1, 2]
    assert found.dtype == np.int16


DEEP = array(9, 1) * 5 + array(0, 0)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (13, b"", "byte 0: it has the unknown type 13"),
        (4, b"\0\0", "it takes 4 bytes, 2 are left"),
        (7, b"\2", "neither 0 nor 1"),
        (8, struct.pack("<Q", 1 << 60), "it takes 1,152,921,504,606,846,976 bytes, 0 are left"),
        (8, b"\1\0\0\0\0\0\0\0\xff", "byte 0: it is not UTF-8"),
        (9, array(77, 1, b"abc"), "elements of the unknown type 77"),
        (9, array(4, 1 << 60, b"abc"), "byte 4: 1,152,921,504,606,846,976 elements of it cannot"),
        (9, array(8, 1 << 60, b"abc"), "cannot be in the 3 bytes left"),
        (9, array(9, 1 << 60, b"abc"), "cannot be in the 3 bytes left"),
        (9, array(7, 1 << 60, b"abc"), "cannot be in the 3 bytes left"),
        (9, array(8, 1, struct.pack("<Q", 1 << 62)), "it: element 0 ends past the file"),
        (9, array(8, 2, struct.pack("<Q", 5) + b"hello" + b"abc"), "element 1 ends past the file"),
        (9, array(8, 1, struct.pack("<Q", 1) + b"\xff"), "element 0 is not UTF-8"),
        (9, DEEP, "arrays in arrays, more than 4 deep"),
    ],
)
def test_lies(tmp_path: Path, kind: int, data: bytes, words: str) -> None:
    with pytest.raises(WeightsError) as caught:
        cursor(tmp_path, data).value(kind, "it")
    assert words in str(caught.value)


@given(kind=st.integers(0, 14), data=st.binary(max_size=80))
def test_any_bytes(tmp_path: Path, kind: int, data: bytes) -> None:
    place = cursor(tmp_path, data)
    with contextlib.suppress(WeightsError):
        place.value(kind, "it")
    assert place.at <= len(data)
