"""GGUF files, written here from the format's description; hostile ones too."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import NotFound, WeightsError
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
    assert found.stored["q"].type.name == "Q8_0"
    assert found.stored["q"].num_bytes == 68


def test_nothing_is_decoded_at_opening(gguf: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    from barrow.weights import gguf_quants

    path = gguf(METADATA, {"q": (2, (32,), bytes(18))})
    monkeypatch.setattr(gguf_quants, "dequantise", lambda *_: pytest.fail("decoded"))
    assert open_gguf(path).tensors.entry("q").shape == (32,)


def test_a_file_without_tensors(gguf: Callable) -> None:
    assert len(open_gguf(gguf(METADATA, {})).tensors) == 0


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"w": (16, (256,), bytes(66))}, "tensor 'w': type IQ2_XXS is not one that is read"),
        ({"w": (999, (4,), bytes(16))}, "tensor 'w': type 999 is not one that is read"),
        ({"w": (2, (33,), bytes(36))}, "rows of [33] are not whole blocks of 32"),
        ({"w": (12, (2, 128), bytes(144))}, "not whole blocks of 256"),
        ({"w": (0, (1 << 40,), bytes(16))}, "ends at byte 4,398,046,511,"),
        ({"w": (0, (1 << 62, 1 << 62), bytes(16))}, "no array can have the shape"),
        ({"w": (0, (1 << 62, 0), b"")}, "no array can have the shape"),
        ({"w": (0, (1,) * 5, bytes(4))}, "'w' has 5 dimensions, at most 4 are allowed"),
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
        (1 << 60, r"tensor 'second': .* ends at byte 1,152,921,504,606,"),
        (33, "offset 33 is not a multiple of the alignment 32"),
        (32, "tensor 'second': overlaps 'first'"),
    ]:
        path = patched(gguf(METADATA, tensors), place, struct.pack("<IQ", 0, offset))
        with pytest.raises(WeightsError, match=words):
            open_gguf(path)


def test_names_that_are_there_twice(gguf: Callable) -> None:
    with pytest.raises(WeightsError, match="tensor 'ab': is there twice"):
        open_gguf(patched(gguf({}, {"ab": W, "cd": W}), b"cd", b"ab"))
    with pytest.raises(WeightsError, match="the key 'ab' is there twice"):
        open_gguf(patched(gguf({"ab": 1, "cd": 1}, {}), b"cd", b"ab"))


@pytest.mark.parametrize("alignment", [0, 7, 12, (1 << 31) + 8, "x"])
def test_alignments_that_are_none(gguf: Callable, alignment: Any) -> None:
    with pytest.raises(WeightsError, match="an alignment of .*; expected a multiple of 8"):
        open_gguf(gguf({"general.alignment": alignment}, {}))


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "expected b'GGUF' at the start, found b''"),
        (b"GGUF\3\0\0\0", "expected b'GGUF' at the start"),
        (b"GGML" + bytes(40), "found b'GGML'"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "expected GGUF version 2 or 3, found version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "found a big-endian file: convert it"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "1,152,921,504,606,846,976 tensors cannot"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "6,846,976 metadata pairs cannot be in"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60) + bytes(9), "a key takes 1,152,921,"),
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
