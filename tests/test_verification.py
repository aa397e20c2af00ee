"""Every kind of folder is verified by one function; a flipped bit is found in each."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.earlier.folders import earlier_folders

import barrow
from barrow.checkpoint import save_params
from barrow.errors import NotFound
from barrow.models import Decoder, DecoderConfig, save
from barrow.models.huggingface.adapters import Adapter, save_adapter
from barrow.nn.tree import Tree

CONFIG = DecoderConfig(vocab_size=259, width=8, layers=1, heads=2, hidden=8, context=16)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an earlier version wrote, and a model and adapters of this one."""
    folder = earlier_folders(tmp_path_factory.mktemp("kinds"))
    model = Decoder(CONFIG)
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    params = jax.tree.map(lambda s: jnp.ones(s.shape, s.dtype), shapes)
    save(folder / "model", model, params, tokenizer="bytes", max_shard_bytes=4000)
    pair = {"down": np.ones((1, 8, 2), np.float32), "up": np.ones((1, 2, 8), np.float32)}
    kernels = Tree({"layers": {"mlp": {"up": {"kernel": Tree(pair)}}}})
    save_adapter(folder / "adapter", CONFIG, Adapter(2, 4.0, kernels, "model"))
    save_params(folder / "params", params)
    return folder


@pytest.mark.parametrize(
    ("name", "kind", "counts"),
    [
        ("corpus/test", "archive", {"shards": 1}),
        ("store", "token store", {"files": 6}),
        ("run", "run", {"checkpoints": 2, "files": 2}),
        ("run/checkpoints", "checkpoints", {"checkpoints": 2}),
        ("run/checkpoints/step-000000002", "checkpoint", {"checkpoints": 1}),
        ("params", "checkpoint", {"checkpoints": 1}),
        ("sft", "run", {"checkpoints": 1}),
        ("scores/run", "result", {"domains": 2, "unchecked": 7}),
        ("int8", "model", {"files": 1, "tensors": 35, "unchecked": 35}),
        ("model", "model", {"files": 2, "tensors": 16}),
        ("adapter", "model", {"files": 1, "tensors": 2}),
    ],
)
def test_every_kind_is_known(folders: Path, name: str, kind: str, counts: dict[str, int]) -> None:
    found = barrow.verify(folders / name)
    assert (found.kind, found.ok, found.problems) == (kind, True, [])
    assert {key: found.counts.get(key) for key in counts} == counts
    assert ("unchecked" in found.counts) == ("unchecked" in counts)


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("corpus/test", "*.zst", "do not match the hash"),
        ("store", "tokens-*", "expected SHA-256"),
        ("run", "run.json", "run.json was changed after it was written"),
        ("run", "checkpoints/*4/index.json", "index.json: "),
        ("run", "checkpoints/*2/arrays-*", "step-000000002: arrays-.* the checksum differs"),
        ("params", "arrays-*", "the checksum differs"),
        ("model", "model-00001-*", "00001-of-00002.*: the checksum differs"),
        ("model", "model-00002-*", "00002-of-00002.*: the checksum differs"),
        ("model", "config.json", "config.json: was changed or removed"),
        ("model", "tokenizer.json", "tokenizer.json: was changed or removed"),
        ("adapter", "adapter_model*", "the checksum differs"),
    ],
)
def test_a_flipped_bit_is_found_in_every_kind(
    folders: Path, tmp_path: Path, name: str, file: str, words: str
) -> None:
    folder = shutil.copytree(folders / name, tmp_path / name)
    if name == "run":  # as this version writes it
        digest = hashlib.sha256((folder / "run.json").read_bytes()).hexdigest()
        (folder / "SHA256SUMS").write_text(f"{digest}  run.json\n")
    assert barrow.verify(folder).ok
    (path,) = sorted(folder.glob(file))[:1]
    data = bytearray(path.read_bytes())
    at = len(data) // 2 if name == "corpus/test" else -3
    data[at] ^= 1
    path.write_bytes(data)
    found = barrow.verify(folder)
    assert found.problems
    assert re.search(words, str(found.problems[0]))


@pytest.mark.parametrize("file", ["scores.json", "run/run.json", "run/checkpoints/*4/arrays-*"])
def test_the_runs_that_confirm_a_search_are_checked(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr("barrow.mix.plan.read_plan", lambda _: SimpleNamespace(runs=()))
    (tmp_path / "search.json").touch()
    pair = shutil.copytree(folders / "scores" / "run", tmp_path / "confirmation" / "tiny")
    run = shutil.copytree(folders / "run", pair / "run")
    digest = hashlib.sha256((run / "run.json").read_bytes()).hexdigest()
    (run / "SHA256SUMS").write_text(f"{digest}  run.json\n")
    found = barrow.verify(tmp_path)
    assert (found.kind, found.ok, found.counts["checkpoints"]) == ("search", True, 2)
    (path,) = pair.glob(file)
    path.write_bytes(path.read_bytes()[:-40])
    assert len(barrow.verify(tmp_path).problems) == 1


def test_what_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no archive"):
        barrow.verify(tmp_path)


@pytest.mark.parametrize("name", ["model.gguf", "model.onnx", "bpe"])
def test_what_has_no_checksums_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix:
        path.write_bytes(b"GGUF")
    else:
        path.mkdir()
        (path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=f"{name} has no checksums to compare with"):
        barrow.verify(path)
