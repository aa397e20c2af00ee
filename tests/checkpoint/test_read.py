"""ACCELERATE-13, DEEPSPEED-14: any block out of any division, from mapped files."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.checkpoint.index import Index, index_bytes
from barrow.checkpoint.leaves import Kind
from barrow.checkpoint.read import Checkpoint, open_checkpoint
from barrow.checkpoint.snapshot import HeldPiece, Snapshot
from barrow.checkpoint.write import _gathered, _write_part, write_checkpoint
from barrow.errors import CheckpointError, NotFound
from barrow.parallel.processes import Peers
from barrow.weights import write_safetensors

ARRAYS = "arrays-00000.safetensors"


def written(folder: Path, array: np.ndarray, cuts: list[list[int]]) -> Checkpoint:
    """A checkpoint of one array, cut along each dimension."""
    ranges = [
        list(itertools.pairwise([0, *cut, size]))
        for cut, size in zip(cuts, array.shape, strict=True)
    ]
    pieces = [
        HeldPiece("x", tuple(a for a, _ in box), array[tuple(slice(a, b) for a, b in box)])
        for box in itertools.product(*ranges)
    ]
    held = Snapshot({"x": Kind("I64", array.shape)}, tuple(pieces))
    write_checkpoint(folder, held, step=None, about={}, peers=Peers())
    return open_checkpoint(folder)


@settings(max_examples=30)
@given(st.data())
def test_any_block_of_any_division(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), max_size=3)))
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    cuts = [
        sorted(data.draw(st.sets(st.integers(1, size - 1)))) if size > 1 else [] for size in shape
    ]
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = written(Path(folder) / "c", array, cuts)
        bound = st.none() | st.integers(0, 6)
        for _ in range(5):
            block = tuple(slice(data.draw(bound), data.draw(bound)) for _ in shape)
            found = checkpoint.block("x", block)
            assert found.dtype == array.dtype
            assert np.array_equal(found, array[block])
            assert found.shape == array[block].shape
        assert np.array_equal(checkpoint.tensors()["x"], array)


def test_a_block_within_a_piece_is_a_view_of_the_file(tmp_path: Path) -> None:
    array = np.arange(24).reshape(4, 6)
    checkpoint = written(tmp_path / "c", array, [[2], []])
    inside = checkpoint.block("x", (slice(2, 4), slice(1, 3)))
    assert not inside.flags.writeable
    assert not inside.flags.owndata
    across = checkpoint.block("x", (slice(1, 4), slice(1, 3)))
    assert across.flags.owndata


def test_prefixes(tmp_path: Path) -> None:
    kinds = {name: Kind("F32", (1,)) for name in ("params/a", "params/b/c", "ema/a")}
    pieces = [HeldPiece(name, (0,), np.ones(1, np.float32)) for name in kinds]
    held = Snapshot(kinds, tuple(pieces))
    write_checkpoint(tmp_path / "c", held, step=3, about={"x": 1}, peers=Peers())
    checkpoint = open_checkpoint(tmp_path / "c")
    assert list(checkpoint.tensors("params/")) == ["a", "b/c"]
    assert list(checkpoint.tensors()) == list(kinds)
    assert checkpoint.index.step == 3


def test_verify_names_the_file(tmp_path: Path) -> None:
    checkpoint = written(tmp_path / "c", np.arange(24).reshape(4, 6), [[2], []])
    checkpoint.verify()
    data = bytearray((tmp_path / "c" / ARRAYS).read_bytes())
    data[-3] ^= 1
    (tmp_path / "c" / ARRAYS).write_bytes(data)
    with pytest.raises(CheckpointError, match=f"{ARRAYS}: the checksum differs"):
        checkpoint.verify(["x"])
    checkpoint.verify([])


def test_every_file_is_verified(tmp_path: Path) -> None:
    """Each process of a run writes one; damage in the second is as bad as in the first."""
    folder, array = tmp_path / "c", np.arange(24, dtype=np.float32).reshape(4, 6)
    folder.mkdir()
    for process, start in enumerate((0, 2)):
        piece = HeldPiece("x", (start, 0), array[start : start + 2])
        _write_part(folder, (piece,), process)
    _write_part(folder, (HeldPiece("y", (0,), array[0]),), 2)
    kinds = {"x": Kind("F32", (4, 6)), "y": Kind("F32", (6,))}
    files, leaves = _gathered(folder, Snapshot(kinds, ()))
    (folder / "index.json").write_bytes(index_bytes(Index(1, {}, leaves, files)))
    checkpoint = open_checkpoint(folder)
    assert list(files) == [f"arrays-0000{process}.safetensors" for process in range(3)]
    assert np.array_equal(checkpoint.tensors()["x"], array)
    checkpoint.verify()
    for name in files:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(CheckpointError, match=f"{name}: the checksum differs"):
            checkpoint.verify()
        checkpoint.verify(["x"] if name == list(files)[2] else ["y"])
        (folder / name).write_bytes(whole)


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        open_checkpoint(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="found no index.json"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("other", [{"y": np.arange(24)}, {"x": np.arange(25).reshape(5, 5)}])
def test_arrays_of_another_checkpoint(tmp_path: Path, other: dict[str, np.ndarray]) -> None:
    """Files of the right length whose header is not what the index says."""
    written(tmp_path / "c", np.arange(24).reshape(4, 6), [[], []])
    path = tmp_path / "c" / ARRAYS
    size = path.stat().st_size
    path.unlink()
    write_safetensors(path, other)
    pad = size - path.stat().st_size
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length] + b" " * max(0, pad)
    data = len(header).to_bytes(8, "little") + header + data[8 + length :]
    path.write_bytes(data[:size])
    with pytest.raises(CheckpointError) as raised:
        open_checkpoint(tmp_path / "c")
    assert raised.value.reason in ("damaged", "incomplete")
