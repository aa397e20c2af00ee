"""FLAX-8: parameters out of every format; pickle only through the restricted loader."""

from __future__ import annotations

import collections
import os
import pickle
from pathlib import Path

import flax.serialization
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
import torch

from barrow.checkpoint import save_params
from barrow.checkpoint.sources import format_of, open_params
from barrow.errors import CheckpointError, NotFound, WeightsError


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"a/w": rng.normal(size=(3, 4)).astype(np.float32), "b": np.arange(5, dtype=np.int32)}


def test_of_a_damaged_checkpoint_the_one_before_is_named(tmp_path: Path) -> None:
    for step in (4, 7, 9):
        save_params(tmp_path / f"step-{step:09}", arrays())
    for name, words in (
        ("9", f"the previous one is {tmp_path / 'step-000000007'}"),
        ("4", "no ear"),
    ):
        folder = tmp_path / f"step-{int(name):09}"
        (file,) = folder.glob("*.safetensors")
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
        with pytest.raises(CheckpointError, match=f"checksum differs; .*{words}"):
            open_params(folder)
    with pytest.raises(CheckpointError, match="step-000000007"):
        open_params(tmp_path)


def test_all_formats_give_the_same(tmp_path: Path) -> None:
    nested = {"a": {"w": arrays()["a/w"]}, "b": arrays()["b"]}
    save_params(tmp_path / "checkpoint", nested)
    safetensors.numpy.save_file(arrays(), tmp_path / "x.safetensors")
    folder = tmp_path / "hf"
    folder.mkdir()
    safetensors.numpy.save_file(arrays(), folder / "model.safetensors")
    torch.save(
        collections.OrderedDict((n, torch.from_numpy(a)) for n, a in arrays().items()),
        tmp_path / "x.pt",
    )
    for name, tree in (("x", nested), ("collections", {"params": nested, "stats": {"m": 1.0}})):
        data = flax.serialization.msgpack_serialize(tree)
        (tmp_path / f"{name}.msgpack").write_bytes(data)
    expected = {
        "checkpoint": "checkpoint",
        "x.safetensors": "safetensors",
        "hf": "safetensors",
        "x.pt": "torch",
        "x.msgpack": "msgpack",
        "collections.msgpack": "msgpack",
    }
    for name, kind in expected.items():
        assert format_of(tmp_path / name) == kind
        found = open_params(tmp_path / name)
        assert set(found) == {"a/w", "b"}
        for path, array in arrays().items():
            assert np.array_equal(found[path], array)
            assert found[path].dtype == array.dtype
    (tmp_path / "x.pt").rename(tmp_path / "anything")
    assert len(open_params(tmp_path / "anything", format="torch")) == 2


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


def test_pickle_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"w": torch.ones(2), "x": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(WeightsError, match="system"):
        open_params(tmp_path / "evil.pt")
    (tmp_path / "bare.pt").write_bytes(pickle.dumps({"w": np.ones(2)}))
    with pytest.raises(WeightsError, match="a bare pickle"):
        open_params(tmp_path / "bare.pt")
    assert not (tmp_path / "pwned").exists()


def test_unknown_files(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        open_params(tmp_path / "nothing")
    (tmp_path / "x.npz").write_bytes(b"")
    with pytest.raises(
        ValueError, match="expected a checkpoint, a run, or a file named .saf.*torch"
    ):
        open_params(tmp_path / "x.npz")
    (tmp_path / "x.msgpack").write_bytes(b"\xc1")
    with pytest.raises(WeightsError, match="not a Flax checkpoint"):
        open_params(tmp_path / "x.msgpack")


def test_what_is_no_parameter_is_left_out(tmp_path: Path) -> None:
    save_params(tmp_path / "c", {"w": jnp.ones((), jnp.bfloat16)})
    assert open_params(tmp_path / "c").entry("w").shape == ()
