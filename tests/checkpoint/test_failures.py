"""Bad input and bad luck: each is found, named, and leaves the older checkpoints."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from tests.checkpoint.runs import make_run, three_steps

from barrow.checkpoint import Checkpoints
from barrow.errors import CheckpointError, NotFound, WriteFailed
from barrow.train.state import TrainState
from barrow.train.step import StepSettings

ARRAYS = "arrays-00000.safetensors"


@pytest.fixture
def saved(tmp_path: Path) -> Checkpoints:
    return three_steps(tmp_path / "checkpoints")


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize("at", [-1, -400, 40])
def test_a_flipped_byte_is_found_and_the_previous_one_offered(saved: Checkpoints, at: int) -> None:
    state, _ = make_run()
    flip(saved.folder / "step-000000003" / ARRAYS, at)
    with pytest.raises(CheckpointError) as raised:
        saved.restore(3, state)
    assert raised.value.reason == "damaged"
    assert ARRAYS in str(raised.value)
    assert "to resume from step 2, remove this folder" in str(raised.value)
    assert int(saved.restore(2, state).step) == 2


def test_every_flipped_bit_of_an_index_is_found(saved: Checkpoints) -> None:
    state, _ = make_run()
    path = saved.folder / "step-000000001" / "index.json"
    whole = path.read_bytes()
    is_text = [i for i in range(len(whole)) if chr(whole[i]).isalnum()]
    for at in is_text[:: len(is_text) // 40]:
        path.write_bytes(whole)
        flip(path, at)
        with pytest.raises(CheckpointError, match="there is no earlier one|upgrade barrow"):
            saved.restore(1, state)
    path.write_bytes(whole)
    saved.restore(1, state)


def test_half_a_checkpoint(saved: Checkpoints) -> None:
    state, _ = make_run()
    arrays = saved.folder / "step-000000003" / ARRAYS
    size = arrays.stat().st_size
    os.truncate(arrays, size // 2)
    assert saved.latest() == 2
    with pytest.raises(
        CheckpointError, match=f"incomplete checkpoint: {ARRAYS} has {size // 2:,} byt"
    ):
        saved.restore(3, state)
    arrays.unlink()
    assert saved.latest() == 2
    with pytest.raises(CheckpointError, match=f"{ARRAYS} is missing.*to resume from step 2"):
        saved.restore(3, state)
    (arrays.parent / "index.json").unlink()
    assert saved.latest() == 2
    with pytest.raises(CheckpointError, match="found no index.json; was copying interrupted"):
        saved.restore(3, state)


def test_a_step_that_is_not_there(saved: Checkpoints) -> None:
    with pytest.raises(NotFound, match="no checkpoint of step 7; complete ones: 1, 2, 3"):
        saved.restore(7, make_run()[0])
    with pytest.raises(NotFound, match="complete ones: none"):
        Checkpoints(saved.folder / "nothing").about(7)


def test_a_newer_format(saved: Checkpoints) -> None:
    path = saved.folder / "step-000000003" / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2}))
    with pytest.raises(CheckpointError, match="version 2, but this barrow reads up to 1.*upgrade"):
        saved.restore(3, make_run()[0])
    assert saved.latest() == 2


def test_a_checkpoint_of_another_model_lists_all_that_differs(saved: Checkpoints) -> None:
    other, _ = make_run(StepSettings(ema=0.9), width=16)
    with pytest.raises(CheckpointError) as raised:
        saved.restore(3, other)
    words = str(raised.value)
    assert raised.value.reason == "mismatch"
    assert "missing: 4\n  ema/embed/table" in words
    assert "params/norm/scale: expected F32[16], found F32[8]" in words
    assert "more" in words
    lion, _ = make_run(optimizer="lion")
    with pytest.raises(CheckpointError, match="unexpected: 4\n  optimizer/0/nu/embed/table"):
        saved.restore(3, lion)
    state, _ = make_run()
    half = replace(state, params=jax.tree.map(lambda x: x.astype(jnp.bfloat16), state.params))
    with pytest.raises(CheckpointError, match=r"expected BF16\[8, 16\], found F32\[8, 16\]"):
        saved.restore(3, half)
    with pytest.raises(CheckpointError, match=r"key: expected key<rbg>\[4\], found key<fry>\[2\]"):
        saved.restore(3, replace(state, key=jax.random.key(0, impl="rbg")))


def fails_with(error: OSError) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def test_a_full_disk_leaves_the_older_ones(
    saved: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, _ = make_run()
    later = replace(state, step=jnp.int32(9))
    monkeypatch.setattr(os, "write", fails_with(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    saved.save(later, {})
    with pytest.raises(WriteFailed, match="could not be written: No space left on device"):
        saved.save(later, {})
    saved.save(later, {})
    with pytest.raises(WriteFailed, match="No space left on device"):
        saved.wait()
    saved.wait()  # an error is raised once
    with pytest.raises(WriteFailed), saved:
        saved.save(later, {})
    assert sorted(os.listdir(saved.folder)) == [f"step-{n:09}" for n in (1, 2, 3)]
    monkeypatch.undo()
    saved.save(later, {}, wait=True)
    assert saved.steps() == [2, 3, 9]


def test_the_kernels_own_full_device(saved: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = make_run()
    real = os.open

    def opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        full = str(path).endswith(".writing") and flags & os.O_CREAT
        flags &= ~(os.O_TRUNC | os.O_EXCL)
        return real("/dev/full" if full else path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(WriteFailed, match="No space left on device"):
        saved.save(replace(state, step=jnp.int32(9)), {}, wait=True)
    assert saved.steps() == [1, 2, 3]


@pytest.mark.parametrize("name", ["mkdir", "replace"])
def test_a_read_only_folder(saved: Checkpoints, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As the kernel says it; tests may run as root, who may write anywhere."""
    state, _ = make_run()
    error = OSError(errno.EROFS, os.strerror(errno.EROFS))
    change = getattr(Path, name)

    def refuse(path: Path, *given: Path) -> object:
        if any("step-" in place.name for place in (path, *given)):
            raise error
        return change(path, *given)

    monkeypatch.setattr(Path, name, refuse)
    with pytest.raises(WriteFailed, match="step-000000009 could not be written: Read-only file sy"):
        saved.save(replace(state, step=jnp.int32(9)), {}, wait=True)
    monkeypatch.undo()
    assert saved.steps() == [1, 2, 3]
    assert len(os.listdir(saved.folder)) == 3


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WriteFailed, match="could not be written: (File exists|Not a directory)"):
        Checkpoints(tmp_path / "file").save(make_run()[0], {}, wait=True)


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """The kernel cuts a write short, as a quota does; a process of its own, for the limit stays."""
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.checkpoint.runs import make_run\n"
        "from barrow.checkpoint.checkpoints import Checkpoints\n"
        "state, _ = make_run()\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (2000, {resource.RLIM_INFINITY}))\n"
        "try:\n"
        "    Checkpoints(Path(sys.argv[1])).save(state, {}, wait=True)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "run"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert "could not be written: File too large" in run.stdout
    assert os.listdir(tmp_path / "run") == []


def test_leaves_that_are_no_arrays(tmp_path: Path) -> None:
    state = TrainState(jnp.int32(1), {"w": 2.0}, None, None, jax.random.key(0))
    with pytest.raises(ValueError, match="params/w is a float; a checkpoint holds arrays"):
        Checkpoints(tmp_path).save(state, {})
