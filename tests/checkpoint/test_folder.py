"""Names of folders, which may go, and what is found where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkpoint.runs import make_run

from barrow.checkpoint import Checkpoints, save_params
from barrow.checkpoint.folder import (
    clean,
    commit,
    complete,
    find_checkpoint,
    folder_of,
    hidden_beside,
    listed,
    open_index,
    removable,
    remove,
)
from barrow.checkpoint.index import INDEX, index_bytes, read_index
from barrow.errors import CheckpointError, NotFound


@given(
    st.sets(st.integers(0, 60), min_size=1),
    st.data(),
    st.integers(1, 5),
    st.none() | st.integers(1, 7),
)
def test_what_may_go(
    steps: set[int], data: st.DataObject, keep_last: int, keep_every: int | None
) -> None:
    written = data.draw(st.sampled_from(sorted(steps)))
    gone = removable(steps, written=written, keep_last=keep_last, keep_every=keep_every)
    for step in steps:
        num_later = sum(other > step for other in steps)
        is_kept = step == written or num_later < keep_last
        is_kept = is_kept or (keep_every is not None and step % keep_every == 0)
        assert (step in gone) == (not is_kept)
    assert max(steps) not in gone


@pytest.mark.parametrize("name", ["../victim", "absolute", "link"])
def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    save_params(folder, {"a": np.ones(4, np.float32)})
    index = read_index(folder)
    (old,) = index.files
    (folder / old).rename(tmp_path / "victim")
    (folder / "link").symlink_to(tmp_path / "victim")
    new = str(tmp_path / "victim") if name == "absolute" else name
    leaves = {
        path: replace(leaf, pieces=tuple(replace(piece, file=new) for piece in leaf.pieces))
        for path, leaf in index.leaves.items()
    }
    changed = replace(index, files={new: index.files[old]}, leaves=leaves)
    (folder / INDEX).write_bytes(index_bytes(changed))
    with pytest.raises(CheckpointError, match="leads out of the folder"):
        open_index(folder)


def test_names(tmp_path: Path) -> None:
    assert folder_of(tmp_path, 1000).name == "step-000001000"
    assert folder_of(tmp_path, 12_345_678_901).name == "step-12345678901"
    assert hidden_beside(tmp_path / "model", "part").name == ".model.part"
    for name in ("step-000000002", "step-12345678901", "step-7", "other", ".step-000000003.part"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-000000004").write_text("a file")
    assert listed(tmp_path) == [2, 12_345_678_901]
    assert complete(tmp_path) == []
    assert listed(tmp_path / "nothing") == []


def test_a_replacement_that_was_cut_short_is_finished_or_undone(tmp_path: Path) -> None:
    plain = tmp_path / "step-000000001"
    before = hidden_beside(plain, "before")
    (before / "old").mkdir(parents=True)
    clean(tmp_path)
    assert (plain / "old").is_dir()
    assert not before.exists()
    before.mkdir()
    part = hidden_beside(plain, "part")
    (part / "new").mkdir(parents=True)
    commit(part, plain)
    assert [entry.name for entry in plain.iterdir()] == ["new"]
    assert [entry.name for entry in tmp_path.iterdir()] == [plain.name]
    remove(plain)
    assert list(tmp_path.iterdir()) == []


def test_clean_leaves_what_is_not_ours(tmp_path: Path) -> None:
    for name in (".git", ".model.part", ".step-1.part"):
        (tmp_path / name).mkdir()
    (tmp_path / ".step-000000001.part").write_text("a file")
    clean(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_damaged_newest_checkpoint_is_not_passed_over(tmp_path: Path) -> None:
    """The one before it is another model: only resuming takes it."""
    for step in (4, 7):
        save_params(folder_of(tmp_path, step), {"a": np.ones(4, np.float32)})
    index = folder_of(tmp_path, 7) / INDEX
    data = bytearray(index.read_bytes())
    data[data.index(b'"F32"') + 1] ^= 1
    index.write_bytes(data)
    words = "step-000000007: index.json: its checksum .*; the previous one is .*004; .* --step"
    with pytest.raises(CheckpointError, match=words):
        find_checkpoint(tmp_path)
    assert find_checkpoint(tmp_path, step=4) == folder_of(tmp_path, 4)
    with pytest.raises(CheckpointError, match="step-000000007"):
        find_checkpoint(tmp_path, step=7)
    with pytest.warns(UserWarning, match="checkpoint 7 is damaged .*; resuming from step 4$"):
        assert Checkpoints(tmp_path).to_resume() == 4
    remove(folder_of(tmp_path, 4))
    with pytest.warns(UserWarning, match="checkpoint 7 is damaged .*; starting again$"):
        assert Checkpoints(tmp_path).to_resume() is None


def test_find_checkpoint(tmp_path: Path) -> None:
    state, _ = make_run()
    save_params(tmp_path / "params", state.params)
    assert find_checkpoint(tmp_path / "params") == tmp_path / "params"
    Checkpoints(tmp_path / "run" / "checkpoints").save(state, {}, wait=True)
    newest = tmp_path / "run" / "checkpoints" / "step-000000000"
    assert find_checkpoint(tmp_path / "run") == newest
    assert find_checkpoint(tmp_path / "run" / "checkpoints") == newest
    assert find_checkpoint(newest) == newest
    assert find_checkpoint(tmp_path / "run", step=0) == newest
    for path in (tmp_path / "run", tmp_path / "run" / "checkpoints"):
        with pytest.raises(NotFound, match="no checkpoint of step 7; complete ones: 0"):
            find_checkpoint(path, step=7)
    with pytest.raises(CheckpointError, match="expected a checkpoint, a folder of"):
        find_checkpoint(tmp_path / "params", step=0)
    with pytest.raises(NotFound, match="nowhere does not exist"):
        find_checkpoint(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="found no complete checkpoint"):
        find_checkpoint(tmp_path / "empty")
