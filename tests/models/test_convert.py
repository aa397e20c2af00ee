"""FLAX-8: from and to the formats of others, read back by their own libraries."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import flax.serialization
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
import torch
import transformers
from tests.checkpoint.runs import bits, make_run

from barrow.checkpoint import Checkpoints, load_params, save_params
from barrow.checkpoint.read import open_checkpoint
from barrow.errors import CheckpointError, WriteFailed
from barrow.files import disk
from barrow.models import Decoder, DecoderConfig, family_table
from barrow.models.convert import convert
from barrow.nn.tree import paths


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one checkpoint, in pieces of eight devices."""
    Checkpoints(tmp_path / "run" / "checkpoints").save(
        make_run(devices=8)[0], {"note": "kept"}, wait=True
    )
    return tmp_path / "run"


def test_to_safetensors(run: Path, tmp_path: Path) -> None:
    params = paths(make_run()[0].params)
    assert convert(run, tmp_path / "x.safetensors", to="safetensors") == len(params)
    found = safetensors.numpy.load_file(tmp_path / "x.safetensors")
    assert set(found) == set(params)
    assert all(np.array_equal(found[path], params[path]) for path in params)


def test_to_flax_and_back(run: Path, tmp_path: Path) -> None:
    params = make_run()[0].params
    convert(run, tmp_path / "x.msgpack", to="msgpack")
    found = flax.serialization.msgpack_restore((tmp_path / "x.msgpack").read_bytes())
    assert np.array_equal(found["layers"]["mlp"]["kernel"], params["layers"]["mlp"]["kernel"])
    assert set(found) == set(params)
    convert(tmp_path / "x.msgpack", tmp_path / "back", to="checkpoint")
    assert bits(load_params(tmp_path / "back")) == bits(params)


def test_parameters_out_of_a_state(run: Path, tmp_path: Path) -> None:
    convert(run, tmp_path / "params", to="checkpoint")
    index = open_checkpoint(tmp_path / "params").index
    assert index.about == {"note": "kept"}
    assert all(path.startswith("params/") for path in index.leaves)
    assert bits(load_params(tmp_path / "params")) == bits(make_run()[0].params)


def test_places_are_those_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "store" / "tokenizer").mkdir(parents=True)
    about = {"tokenizer": str(tmp_path / "store" / "tokenizer")}
    save_params(tmp_path / "run" / "checkpoints" / "step-000000003", make_run()[0].params, about)
    convert(tmp_path / "run", tmp_path / "params", to="checkpoint")
    assert '"../store/tokenizer"' in (tmp_path / "params" / "index.json").read_text()
    assert open_checkpoint(tmp_path / "params").index.about == about


def test_from_torch(tmp_path: Path) -> None:
    torch.save({"model": {"w": torch.ones(2, 3)}}, tmp_path / "x.pt")
    convert(tmp_path / "x.pt", tmp_path / "c", to="checkpoint")
    assert np.array_equal(load_params(tmp_path / "c")["model.w"], np.ones((2, 3)))


def test_to_hugging_face(tmp_path: Path) -> None:
    """What transformers computes is the same."""
    config = DecoderConfig(vocab_size=32, width=16, layers=2, heads=2, hidden=24, context=16)
    model = Decoder(config)
    tokens = jnp.arange(8)[None] * 3 % 32
    params = jax.jit(model.init)(jax.random.key(0), tokens)
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "tokenizer.json").write_text('{"model": "made for this"}')
    about = {
        "model": family_table(config),
        "tokenizer": tmp_path / "tokenizer",
        "begin": 3,
        "end": 5,
    }
    save_params(tmp_path / "c", params, about)
    convert(tmp_path / "c", tmp_path / "hf", to="hf")
    copied = (tmp_path / "hf" / "tokenizer.json").read_text()
    assert copied == '{"model": "made for this"}'
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf")
    assert (theirs.config.bos_token_id, theirs.config.eos_token_id) == (3, 5)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(np.array(tokens, np.int64))).logits.numpy()
    found, _ = jax.jit(model.apply)(params, tokens)
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("name", ["x", "x.safetensors"])
def test_a_full_disk_leaves_nothing_in_the_way(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WriteFailed, match="No space left"):
        convert(run, tmp_path / name, to="safetensors")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["run"]
    assert convert(run, tmp_path / name, to="safetensors")


@pytest.mark.parametrize("name", ["x", "x.safetensors"])
def test_of_two_at_once_one_wins(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The second comes when the first has written all, and is about to publish it."""
    target = tmp_path / name

    def before(_: str, path: Path | None = None) -> None:
        if path == target:
            monkeypatch.setattr(disk, "before", lambda *_: None)
            convert(run, target, to="safetensors")

    monkeypatch.setattr(disk, "before", before)
    with pytest.raises(FileExistsError, match="was created by another process meanwhile; it was"):
        convert(run, target, to="safetensors")
    assert sorted(os.listdir(tmp_path)) == ["run", name]
    weights = target if target.is_file() else target / "model.safetensors"
    assert set(safetensors.numpy.load_file(weights)) == set(paths(make_run()[0].params))


def test_a_checkpoint_that_does_not_name_its_model(run: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not name its model"):
        convert(run, tmp_path / "hf", to="hf")


def test_targets_and_sources_that_do_not_do(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="already exists; choose another path"):
        convert(run, run, to="safetensors")
    save_params(tmp_path / "none", {})
    with pytest.raises(ValueError, match="has no parameters"):
        convert(tmp_path / "none", tmp_path / "x.safetensors", to="safetensors")
