from __future__ import annotations

import struct
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import WeightsError
from barrow.weights.mapped_file import MappedFile
from barrow.weights.torch.stored_zip import StoredZip


def make(path: Path, *, compressed: bool = False) -> Path:
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("a/data", b"hello" * 1000)
        archive.writestr("a/empty", b"")
    return path


def opened(path: Path) -> StoredZip:
    return StoredZip(MappedFile(path))


def test_entries_are_views(tmp_path: Path) -> None:
    archive = opened(make(tmp_path / "x.zip"))
    assert archive.names == ["a/data", "a/empty"]
    assert archive.size("a/data") == 5000
    found = archive.read("a/data")
    assert found.tobytes() == b"hello" * 1000
    assert not found.flags.owndata
    assert archive.read("a/empty").tobytes() == b""


def test_nothing_is_inflated(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("a/data", bytes(50 << 20))
    assert path.stat().st_size < 100_000
    with pytest.raises(WeightsError, match="entry 'a/data' is compressed or encrypted; expected"):
        opened(path).read("a/data")
    with pytest.raises(WeightsError, match="compressed"):
        opened(path).size("a/data")


def test_an_entry_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no entry 'b'"):
        opened(make(tmp_path / "x.zip")).read("b")


def test_changed_bytes(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip")
    data = bytearray(path.read_bytes())
    data[2000] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        WeightsError, match="entry 'a/data' has CRC .*, expected .*: the file was changed"
    ):
        opened(path).read("a/data")


def test_sizes_that_lie(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip")
    data = path.read_bytes()
    place = data.index(b"PK\1\2")
    for size in (1 << 30, 6000):
        lie = struct.pack("<II", size, size)
        path.write_bytes(data[: place + 20] + lie + data[place + 28 :])
        with pytest.raises(WeightsError, match="ends at byte|has CRC|changed bytes"):
            opened(path).read("a/data")
    path.write_bytes(data[: place + 42] + struct.pack("<I", 7) + data[place + 46 :])
    with pytest.raises(WeightsError, match="has no header where the directory expects it"):
        opened(path).read("a/data")


@pytest.mark.parametrize("moved", [100, -100])
def test_a_directory_that_is_elsewhere(tmp_path: Path, moved: int) -> None:
    path = make(tmp_path / "x.zip")
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\5\6") + 16
    start = struct.unpack_from("<I", data, place)[0]
    struct.pack_into("<I", data, place, start + moved)  # zipfile shifts every entry by this
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="has no header where the directory expects it"):
        opened(path).read("a/data")


def test_two_entries_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    with pytest.raises(WeightsError, match="two entries of the same name"):
        opened(path)


def test_no_zip(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"PK\3\4 nothing")
    with pytest.raises(WeightsError, match="not a readable zip archive"):
        opened(tmp_path / "x")


@given(data=st.data())
def test_cut_and_flipped(tmp_path: Path, data: st.DataObject) -> None:
    path = make(tmp_path / "x.zip")
    good = path.read_bytes()
    bad = bytearray(good[: data.draw(st.sampled_from([len(good), *range(0, len(good), 97)]))])
    for _ in range(data.draw(st.integers(0, 4)) if bad else 0):
        bad[data.draw(st.integers(max(0, len(bad) - 300), len(bad) - 1))] = data.draw(
            st.integers(0, 255)
        )
    path.write_bytes(bad)
    try:
        archive = opened(path)
        for name in archive.names:
            archive.read(name)
    except WeightsError:
        pass
