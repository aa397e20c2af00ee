from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from barrow.errors import StoreError
from barrow.files.safetensors import Column
from barrow.tokens.store.array_file import map_arrays, read_header, read_rows, write_arrays

U16, U32, U64 = np.dtype("<u2"), np.dtype("<u4"), np.dtype("<u8")
EXPECTED = {"wide": (U64, 2), "ids": (U16, 1)}


def write(path: Path, wide: Any, ids: Any, cuts: int = 1) -> Any:
    columns = {
        "wide": Column(U64, wide.shape, np.array_split(wide, cuts)),
        "ids": Column(U16, ids.shape, np.array_split(ids, cuts)),
    }
    return write_arrays(path, columns, note={"b": 1, "a": "ü"})


@pytest.fixture
def arrays() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 2**63, (7, 2), np.uint64), rng.integers(0, 2**16, 1001, np.uint16)


def test_the_library_reads_what_we_write(tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    """The store is plain safetensors."""
    path = tmp_path / "x.safetensors"
    written = write(path, *arrays)
    loaded = load_file(path)
    assert set(loaded) == {"wide", "ids"}
    np.testing.assert_array_equal(loaded["wide"], arrays[0])
    np.testing.assert_array_equal(loaded["ids"], arrays[1])
    assert loaded["ids"].dtype == U16
    with safe_open(path, "np") as opened:
        assert json.loads(opened.metadata()["barrow"]) == {"a": "ü", "b": 1}
    data = path.read_bytes()
    assert (written.bytes, written.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_data_is_aligned_and_bytes_do_not_depend_on_parts(
    tmp_path: Path, arrays: tuple[Any, Any]
) -> None:
    write(tmp_path / "a", *arrays)
    write(tmp_path / "b", *arrays, cuts=5)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    places = read_header(tmp_path / "a").places
    assert places["wide"].start % 64 == 0
    assert places["ids"].start == places["wide"].start + 7 * 16


def test_we_read_what_the_library_writes(tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"wide": arrays[0], "ids": arrays[1]}, path)
    mapped, note = map_arrays(path, EXPECTED)
    assert note is None
    np.testing.assert_array_equal(mapped["wide"], arrays[0])
    np.testing.assert_array_equal(mapped["ids"], arrays[1])


def test_mapped_arrays_are_read_only_and_not_copied(
    tmp_path: Path, arrays: tuple[Any, Any]
) -> None:
    write(tmp_path / "x", *arrays)
    mapped, note = map_arrays(tmp_path / "x", EXPECTED)
    assert note == {"a": "ü", "b": 1}
    np.testing.assert_array_equal(mapped["wide"], arrays[0])
    assert not mapped["ids"].flags.writeable
    assert not mapped["ids"].flags.owndata


def test_arrays_without_elements(tmp_path: Path) -> None:
    write(tmp_path / "x", np.empty((0, 2), U64), np.empty(0, U16))
    mapped, _ = map_arrays(tmp_path / "x", EXPECTED)
    assert mapped["wide"].shape == (0, 2)
    assert mapped["ids"].shape == (0,)
    assert load_file(tmp_path / "x")["ids"].shape == (0,)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 9))
def test_rows_come_in_parts(tmp_path: Path, start: int, more: int, num_elements: int) -> None:
    wide = np.arange(120, dtype=U64).reshape(60, 2)
    path = tmp_path / "x"
    path.unlink(missing_ok=True)
    write(path, wide, np.arange(60, dtype=U16))
    place = read_header(path).places["wide"]
    parts = list(read_rows(path, place, start, start + more, num_elements=num_elements))
    assert all(part.shape[1] == 2 and len(part) <= max(1, num_elements // 2) for part in parts)
    joined = np.concatenate([np.empty((0, 2), U64), *parts])
    np.testing.assert_array_equal(joined, wide[start : start + more])


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    write(tmp_path / "x", *arrays)
    place = read_header(tmp_path / "x").places["ids"]
    with (tmp_path / "x").open("r+b") as file:
        file.truncate(place.start + 100)
    with pytest.raises(StoreError, match=r"x: expected 1,001 numbers at byte \d+, found 50"):
        list(read_rows(tmp_path / "x", place, 0, 1001))


@pytest.mark.parametrize("size", [0, 3, 8, 100])
def test_a_file_cut_off_in_its_header(tmp_path: Path, arrays: tuple[Any, Any], size: int) -> None:
    path = tmp_path / "x"
    write(path, *arrays)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StoreError, match=r"^x: expected the safetensors header of") as caught:
        read_header(path)
    assert caught.value.reason == "bad-header"


def test_a_file_of_another_size(tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    path = tmp_path / "x"
    size = f"{write(path, *arrays).bytes:,}"
    data = path.read_bytes()
    for other in (data[:-1], data + b"1"):
        path.write_bytes(other)
        with pytest.raises(StoreError, match=f"byte {size}, the file at {len(other):,}"):
            read_header(path)


def entry(dtype: Any = "U16", shape: Any = (4,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"ids": entry(shape=(5,))}, r"U16 of shape \[5\] needs 10 bytes, got 8"),
        ({"ids": entry(offsets=(1, 9))}, "ends at byte .*: cut short, or wrong"),
        ({"ids": entry(), "x": entry(offsets=(4, 12))}, "ends at byte"),
        ({"ids": entry(offsets=(8, 0))}, "data_offsets are not"),
        ({"ids": entry(shape=(-4,))}, "shape is not a list of counts"),
        ({"ids": entry(shape=(4.0,))}, "shape is not a list of counts"),
        ({"ids": entry(shape=(True, 4))}, "shape is not a list of counts"),
        ({"ids": entry(shape=(2**40, 2**40))}, "shape is not a list of counts"),
        ({"ids": entry(dtype="F4")}, "unknown dtype 'F4'"),
        ({"ids": entry(offsets=(0, 4, 8))}, "data_offsets are not"),
        ({"ids": {"dtype": "U16"}}, "expected dtype, shape and data_offsets"),
        ({"ids": 3}, "expected dtype, shape and data_offsets"),
        ([1], "expected the safetensors header"),
        ({"ids": entry(), "__metadata__": {"barrow": "{"}}, "expected the safetensors header"),
    ],
)
def test_lying_headers(tmp_path: Path, header: Any, message: str) -> None:
    text = json.dumps(header).encode()
    path = tmp_path / "x"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(StoreError, match=message):
        read_header(path)


def test_other_arrays_than_expected(tmp_path: Path, arrays: tuple[Any, Any]) -> None:
    write(tmp_path / "x", *arrays)
    with pytest.raises(
        StoreError, match=r"expected arrays ids \(uint32, 1-d\), found ids \(uint16"
    ):
        map_arrays(tmp_path / "x", {"ids": (U32, 1)})


@given(st.data())
def test_a_changed_header_is_an_error_or_harmless(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "x"
    path.unlink(missing_ok=True)
    write(path, np.arange(6, dtype=U64).reshape(3, 2), np.arange(9, dtype=U16))
    content = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    at = data.draw(st.integers(0, header - 1))
    content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        mapped, _ = map_arrays(path, EXPECTED)
    except StoreError:
        return
    assert mapped["ids"].tolist() == list(range(9))
