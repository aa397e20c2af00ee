"""A checkpoint appears at once or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from barrow.checkpoint import write as module
from barrow.checkpoint.index import read_index
from barrow.checkpoint.leaves import Kind
from barrow.checkpoint.snapshot import HeldPiece, Snapshot
from barrow.checkpoint.write import write_checkpoint
from barrow.errors import CheckpointError
from barrow.parallel.processes import Peers


def held(value: float = 1.0, num: int = 4) -> Snapshot:
    array = np.full((num, 3), value, np.float32)
    pieces = (HeldPiece("a/w", (0, 0), array[:2]), HeldPiece("a/w", (2, 0), array[2:]))
    return Snapshot({"a/w": Kind("F32", (4, 3))}, pieces)


def test_others_open_the_arrays(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "c", held(), step=4, about={}, peers=Peers())
    assert sorted(os.listdir(tmp_path)) == ["c"]
    assert sorted(os.listdir(tmp_path / "c")) == ["arrays-00000.safetensors", "index.json"]
    arrays = safetensors.numpy.load_file(tmp_path / "c" / "arrays-00000.safetensors")
    assert {name: array.shape for name, array in arrays.items()} == {
        "a/w": (2, 3),
        "a/w@2,0": (2, 3),
    }


def test_the_same_state_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_checkpoint(tmp_path / name, held(), step=4, about={"x": 1}, peers=Peers())
    for file in ("arrays-00000.safetensors", "index.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


class Killed(BaseException):
    """As if the process were gone: nothing after it runs that the test looks at."""


@pytest.mark.parametrize("where", ["write_safetensors", "index_bytes", "sync_folder", "commit"])
def test_until_the_rename_the_old_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    folder = tmp_path / "c"
    write_checkpoint(folder, held(), step=4, about={"old": True}, peers=Peers())

    def die(*_: object, **__: object) -> None:
        assert read_index(folder).about == {"old": True}
        raise Killed

    monkeypatch.setattr(module, where, die)
    with pytest.raises(Killed):
        write_checkpoint(folder, held(2.0), step=4, about={}, peers=Peers())
    assert read_index(folder).about == {"old": True}
    monkeypatch.undo()
    write_checkpoint(folder, held(2.0), step=4, about={"new": True}, peers=Peers())
    assert read_index(folder).about == {"new": True}
    assert os.listdir(tmp_path) == ["c"]


def test_every_file_and_folder_is_synced_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, commit = os.fsync, module.commit

    def synced(descriptor: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        sync(descriptor)

    def committed(part: Path, folder: Path) -> None:
        done.append("commit")
        commit(part, folder)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(module, "commit", committed)
    write_checkpoint(tmp_path / "c", held(), step=4, about={}, peers=Peers())
    before, after = done[: done.index("commit")], done[done.index("commit") + 1 :]
    arrays = next(i for i, name in enumerate(before) if "arrays-00000" in name)
    index = next(i for i, name in enumerate(before) if "index.json" in name)
    assert arrays < index
    assert before[-1] == ".c.part"
    assert after == [tmp_path.name]


def test_pieces_that_are_missing_are_not_committed(tmp_path: Path) -> None:
    whole = held()
    half = Snapshot(whole.kinds, whole.pieces[:1])
    with pytest.raises(CheckpointError, match="pieces of a/w do not cover it: do all processes"):
        write_checkpoint(tmp_path / "c", half, step=4, about={}, peers=Peers())
    assert os.listdir(tmp_path) == []


def test_names_that_collide(tmp_path: Path) -> None:
    array = np.zeros(1, np.float32)
    pieces = (HeldPiece("w", (1,), array), HeldPiece("w@1", (0,), array))
    with pytest.raises(ValueError, match="names of leaves must not end in '@' and numbers"):
        write_checkpoint(tmp_path / "c", Snapshot({}, pieces), step=None, about={}, peers=Peers())
