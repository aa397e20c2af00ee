"""ROBERTA-4: memory-mapped, and only the pages that are used are touched."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from barrow.errors import NotFound, WeightsError
from barrow.weights.mapped_file import MappedFile, release


def resident_kilobytes(path: Path) -> int:
    """Memory that this process's mappings of a file take, as Linux counts it."""
    total, mine = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            mine = line.endswith(str(path))
        elif mine and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


def test_only_touched_pages_come_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(8 << 30)
        file.seek(4 << 30)
        file.write(np.arange(4, dtype="<f4").tobytes())
    mapped = MappedFile(path)
    array = mapped.array(np.dtype("<f4"), (4,), 4 << 30)
    whole = mapped.array(np.dtype("u1"), (8 << 30,), 0)
    assert array.tolist() == [0, 1, 2, 3]
    assert whole[-1] == 0
    assert resident_kilobytes(path) < 8192


def test_arrays_are_views_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc" + np.arange(6, dtype="<i4").tobytes())
    mapped = MappedFile(path)
    array = mapped.array(np.dtype("<i4"), (2, 3), 3)  # of no alignment
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not array.flags.writeable
    assert not array.flags.owndata
    assert mapped.array(np.dtype("<i4"), (0, 3), 27).shape == (0, 3)
    assert mapped.lazy(np.dtype("u1"), (3,), 0).read().tobytes() == b"abc"
    assert mapped.read(25, 100) == b"\0\0"


def test_pages_are_released_with_the_last_view(tmp_path: Path) -> None:
    path, other = tmp_path / "x", tmp_path / "y"
    path.write_bytes(b"a" * (4 << 20))
    other.write_bytes(b"b" * (4 << 20))
    mapped = MappedFile(path)
    array = mapped.array(np.dtype("u1"), (4 << 20,), 0)
    assert array.sum() == 97 * (4 << 20)
    assert resident_kilobytes(path) >= 4096
    del array
    assert resident_kilobytes(path) == 0
    other.replace(path)  # the file that was opened is the one that is read
    assert mapped.array(np.dtype("u1"), (4,), 0).tobytes() == b"aaaa"


def test_a_file_replaced_under_a_view(tmp_path: Path) -> None:
    path, other = tmp_path / "x", tmp_path / "y"
    path.write_bytes(b"old!")
    other.write_bytes(b"new")
    view = MappedFile(path).array(np.dtype("u1"), (4,), 0)
    late = MappedFile(path)
    other.replace(path)
    assert view.tobytes() == b"old!"
    with pytest.raises(WeightsError, match="the file changed after it was opened"):
        late.memory()


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="none does not exist"):
        MappedFile(tmp_path / "none")
    with pytest.raises(WeightsError, match="expected a file, found a folder"):
        MappedFile(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    assert MappedFile(tmp_path / "empty").memory() == b""


def test_pages_of_a_part_are_released(tmp_path: Path) -> None:
    path = tmp_path / "x"
    numbers = np.arange(4 << 20, dtype="<u4").reshape(4096, 1024)
    path.write_bytes(bytes(8) + numbers.tobytes())
    array = MappedFile(path).array(np.dtype("<u4"), (4096, 1024), 8)
    for view, rows in ((array, slice(0, 2048)), (array[::-1], slice(2048, None))):
        assert array.sum(dtype=np.uint64) == numbers.sum(dtype=np.uint64)
        assert resident_kilobytes(path) >= 16384
        release(view[rows])
        assert 4096 <= resident_kilobytes(path) <= 9216  # pages may have 2 MB
        release(view.T[:, rows])
    release(array)
    assert resident_kilobytes(path) < 64
    np.testing.assert_array_equal(array, numbers)


def test_memory_that_may_have_changed_is_not_released(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(8192))
    changed = np.memmap(path, np.uint8, mode="c")
    changed[:] = 7
    for array in (changed, np.ones(3), np.ones(()), changed[:0]):
        release(array)
    assert changed.sum() == 7 * 8192
