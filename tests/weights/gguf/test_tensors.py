"""GGUF files, written here from the format's description; hostile ones too."""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf as library
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import MissingExtra, NotFound, WeightsError
from barrow.weights import open_gguf

METADATA = {
    "general.architecture": "llama",
    "n": 7,
    "x": 0.5,
    "yes": True,
    "words": ["a", "naïve", ""],
    "scores": np.array([1, 2], "<f4"),
}
W = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(("version", "alignment"), [(2, 32), (3, 32), (3, 64)])
def test_metadata_and_tensors(gguf: Callable, version: int, alignment: int) -> None:
    metadata = {**METADATA, **({"general.alignment": alignment} if alignment != 32 else {})}
    quantised = (8, (2, 32), struct.pack("<e32b", 0.5, *range(32)) * 2)
    path = gguf(metadata, {"w": W, "q": quantised}, version=version, alignment=alignment)
    found = open_gguf(path)
    assert found.version == version
    assert found.metadata["words"] == ["a", "naïve", ""]
    assert found.metadata["scores"].tolist() == [1, 2]
    assert (found.metadata["n"], found.metadata["x"], found.metadata["yes"]) == (7, 0.5, True)
    np.testing.assert_array_equal(found.tensors["w"], W, strict=True)
    assert found.tensors["q"].tolist() == [[i / 2 for i in range(32)]] * 2
    assert found.types == {"w": "F32", "q": "Q8_0"}


def test_nothing_is_decoded_at_opening(gguf: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gguf(METADATA, {"q": (2, (32,), bytes(18))})
    read: list[int] = []
    decode = library.dequantize
    monkeypatch.setattr(
        library,
        "dequantize",
        lambda data, qtype: (read.append(data.nbytes), decode(data, qtype))[1],
    )
    found = open_gguf(path)
    assert found.tensors.entry("q").shape == (32,)
    assert read == [18]  # a block of zeros, to know that the type is decoded
    assert found.tensors["q"].shape == (32,)
    assert read == [18, 18]


def test_a_file_without_tensors(gguf: Callable) -> None:
    assert len(open_gguf(gguf(METADATA, {})).tensors) == 0


@pytest.mark.parametrize(
    ("number", "dtype"), [(0, np.float32), (1, np.float16), (30, ml_dtypes.bfloat16)]
)
def test_floats_are_given_as_float32(gguf: Callable, number: int, dtype: type) -> None:
    stored = np.array([1.5, -2.25, 0, 3e-5, 65504], np.float32).astype(dtype)
    entry = open_gguf(gguf({}, {"w": (number, stored.shape, stored.tobytes())})).tensors.entry("w")
    assert entry.dtype == entry.read().dtype == np.float32
    np.testing.assert_array_equal(entry.read(), stored.astype(np.float32))


@pytest.mark.parametrize(
    ("number", "dtype"), [(24, "i1"), (25, "i2"), (26, "i4"), (27, "i8"), (28, "f8")]
)
def test_others_as_they_are(gguf: Callable, number: int, dtype: str) -> None:
    stored = np.array([-3, 0, 7], dtype)
    found = open_gguf(gguf({}, {"w": (number, stored.shape, stored.tobytes())})).tensors["w"]
    np.testing.assert_array_equal(found, stored, strict=True)
    assert not found.flags.owndata  # a view of the mapped file
    assert not found.flags.writeable


def test_a_type_with_a_grid(gguf: Callable) -> None:
    found = open_gguf(gguf({}, {"w": (20, (1, 32), struct.pack("<e16B", 2, *range(16)))}))
    assert found.types == {"w": "IQ4_NL"}
    assert found.tensors["w"][0, :3].tolist() == [-254, -208, -166]  # of ggml's table, −127 and on


def test_without_the_library(gguf: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gguf(METADATA, {})
    monkeypatch.delitem(sys.modules, "barrow.weights.gguf.reader", raising=False)
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingExtra, match=r"pip install '.\[gguf\]'"):
        open_gguf(path)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"w": (15, (256,), bytes(292))}, "tensor 'w': Dequantization for Q8_K is not yet"),
        ({"w": (999, (4,), bytes(16))}, "is not a valid GGMLQuantizationType"),
        ({"w": (2, (33,), bytes(36))}, "row size (33) is not a multiple of Q4_0 block size (32)"),
        ({"w": (12, (2, 128), bytes(144))}, "is not a multiple of Q4_K block size (256)"),
        ({"w": (0, (1 << 40,), bytes(16))}, "4,398,046,511,104 bytes expected"),
        ({"w": (0, (1 << 62, 1 << 62), bytes(16))}, "not a valid GGUF file: "),
        ({"w": (0, (1 << 62, 0), b"")}, "not a valid GGUF file: array is too big"),
        ({"w": (2, (1 << 61, 0), b"")}, "invalid shape"),
        ({"w": (0, (1,) * 70, bytes(4))}, "not a valid GGUF file: "),
    ],
)
def test_tensors_that_lie(gguf: Callable, tensors: dict[str, Any], words: str) -> None:
    with pytest.raises(WeightsError) as caught:
        open_gguf(gguf(METADATA, tensors))
    assert words in str(caught.value)


def patched(path: Path, old: bytes, new: bytes) -> Path:
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))
    return path


def test_offsets_that_lie(gguf: Callable) -> None:
    tensors = {"first": W, "second": W}
    # Type 0, then the offset: the second tensor begins at 64.
    place = struct.pack("<IQ", 0, 64)
    for offset, words in [
        (1 << 60, "byte 1,152,921,504,606,[0-9,]+: 48 bytes expected, 0 are left"),
        ((1 << 64) - 32, "not a valid GGUF file: overflow"),
        (32, "tensor 'second': overlaps first"),
    ]:
        path = patched(gguf(METADATA, tensors), place, struct.pack("<IQ", 0, offset))
        with pytest.raises(WeightsError, match=words):
            open_gguf(path)


def test_names_that_are_there_twice(gguf: Callable) -> None:
    with pytest.raises(WeightsError, match="duplicated tensor with name ab"):
        open_gguf(patched(gguf({}, {"ab": W, "cd": W}), b"cd", b"ab"))
    with pytest.raises(WeightsError, match="Duplicate ab already in list"):
        open_gguf(patched(gguf({"ab": 1, "cd": 1}, {}), b"cd", b"ab"))


@pytest.mark.parametrize("alignment", [0, 7, 12, (1 << 31) + 8, "x"])
def test_alignments_that_are_none(gguf: Callable, alignment: Any) -> None:
    with pytest.raises(WeightsError, match=r"(?i)(invalid|bad type for general\.) ?alignment"):
        open_gguf(gguf({"general.alignment": alignment}, {}))


def array(kind: int, count: int, data: bytes = b"") -> bytes:
    """Type 9 and an array, as a value of metadata."""
    return struct.pack("<IIQ", 9, kind, count) + data


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (struct.pack("<I", 13), "is not a valid GGUFValueType"),
        (struct.pack("<IH", 4, 0), "4 bytes expected, 2 are left"),
        (struct.pack("<IQ", 8, 1 << 60), "1,152,921,504,606,846,976 bytes expected, 0 are left"),
        (struct.pack("<IQ", 8, 1) + b"\xff", "can't decode byte 0xff"),
        (array(77, 1, b"abc"), "is not a valid GGUFValueType"),
        (array(0, 1 << 60, b"abc"), "1,152,921,504,606,846,976 bytes expected, 3 are left"),
        (array(4, (1 << 64) - 1, b"abc"), "73,786,976,294,838,206,460 bytes expected"),
        (array(8, 1 << 60, b"abc"), "string 0 ends past the file"),
        (array(8, 1, struct.pack("<Q", 1 << 62)), "string 0 ends past the file"),
        (array(8, 2, struct.pack("<Q", 5) + b"hello" + b"abc"), "string 1 ends past the file"),
        (array(8, 1, struct.pack("<Q", 1) + b"\xff"), "can't decode byte 0xff"),
        (array(9, 1 << 60, b"abc"), "an array of arrays is not supported"),
    ],
)
def test_metadata_that_lies(tmp_path: Path, value: bytes, words: str) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2) + b"it"
    (tmp_path / "x.gguf").write_bytes(head + value)
    with pytest.raises(WeightsError) as caught:
        open_gguf(tmp_path / "x.gguf")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "expected b'GGUF' at the start, found b''"),
        (b"GGUF\3\0\0", "expected b'GGUF' at the start"),
        (b"GGUF\3\0\0\0", "byte 8: 16 bytes expected, 0 are left"),
        (b"GGML" + bytes(40), "found b'GGML'"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "expected GGUF version 2 or 3, found version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "found a big-endian file: convert it"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "byte 24: 8 bytes expected, 0 are left"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "byte 24: 8 bytes expected, 0 are left"),
        (
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60) + bytes(9),
            "1,152,921,504,606,846,976 bytes expected, 9 are",
        ),
    ],
)
def test_heads_that_lie(tmp_path: Path, head: bytes, words: str) -> None:
    (tmp_path / "x.gguf").write_bytes(head)
    with pytest.raises(WeightsError) as caught:
        open_gguf(tmp_path / "x.gguf")
    assert words in str(caught.value)
    with pytest.raises(NotFound):
        open_gguf(tmp_path / "none.gguf")


@given(data=st.data())
def test_cut_and_flipped(gguf: Callable, data: st.DataObject) -> None:
    tensors = {"w": W, "q": (12, (1, 256), bytes(144)), "h": (1, (4,), bytes(8))}
    path = gguf(METADATA, tensors)
    good = path.read_bytes()
    bad = bytearray(good[: data.draw(st.integers(0, len(good)))])
    for _ in range(data.draw(st.integers(0, 4)) if bad else 0):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bad)
    with contextlib.suppress(WeightsError):
        found = open_gguf(path)
        for name in found.tensors:
            assert found.tensors[name].shape == found.tensors.entry(name).shape
