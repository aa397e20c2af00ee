from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import barrow.tokens
from barrow.errors import NotFound, WeightsError
from barrow.models import save
from barrow.models.load import load
from barrow.models.sources import open_source, read_json
from barrow.models.text import open_tokenizer


def write_llama2c(path: Path) -> int:
    """A checkpoint of llama2.c with random numbers; gives how many of them are parameters."""
    dim, hidden, layers, heads, kv_heads, vocab, length = 8, 12, 2, 2, 1, 11, 16
    kv_dim = dim // heads * kv_heads
    of_layer = dim + dim * dim + 2 * kv_dim * dim + dim * dim + dim + 3 * dim * hidden
    num = vocab * dim + layers * of_layer + dim
    angles = length * dim // heads
    numbers = np.random.default_rng(0).standard_normal(num + angles).astype("<f4")
    header = struct.pack("<7i", dim, hidden, layers, heads, kv_heads, vocab, length)
    path.write_bytes(header + numbers.tobytes())
    return num


def test_a_llama2c_checkpoint(tmp_path: Path) -> None:
    num = write_llama2c(tmp_path / "model.bin")
    (tmp_path / "tok11.bin").write_bytes(b"")
    source = open_source(tmp_path)  # the only model of its folder
    assert source.path.name == "model.bin"
    assert source.tokenizer == tmp_path / "tok11.bin"
    assert (source.begin, source.stops) == (1, (2,))
    assert source.tensors.num_elements == num
    loaded = load(tmp_path / "model.bin")
    assert loaded.report.is_exact
    assert loaded.model.config.num_kv_heads == 1
    (tmp_path / "tokenizer.bin").write_bytes(b"")
    assert open_source(tmp_path / "model.bin").tokenizer == tmp_path / "tokenizer.bin"


def test_a_llama2c_model_and_its_folder_have_one_tokenizer(tmp_path: Path) -> None:
    write_llama2c(tmp_path / "model.bin")
    pieces = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % byte for byte in range(256)), b" a"]
    entries = b"".join(struct.pack("<fi", 0, len(piece)) + piece for piece in pieces)
    for name in ("tok11.bin", "tokenizer.bin"):  # the second where there are two
        (tmp_path / name).write_bytes(struct.pack("<i", 8) + entries)
        loaded = load(tmp_path / "model.bin")
        assert loaded.tokenizer == tmp_path / name
        assert open_tokenizer(loaded.tokenizer).hash == barrow.tokens.load(tmp_path).hash
    saved = save(tmp_path / "hf", loaded.model, loaded.params, tokenizer=loaded.tokenizer)
    assert saved
    assert barrow.tokens.load(tmp_path / "hf").hash == barrow.tokens.load(tmp_path).hash


def test_ids_that_begin_and_end(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("gpt2")
    assert open_source(folder).stops == ()
    ids = {"bos_token_id": 5, "eos_token_id": [6, 7]}
    (folder / "generation_config.json").write_text(json.dumps(ids))
    source = open_source(folder)
    assert (source.begin, source.stops) == (5, (6, 7))
    assert source.tokenizer is None
    (folder / "tokenizer.json").write_text("{}")
    assert open_source(folder).tokenizer == folder


def test_one_file_of_a_folder(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("gpt2")
    assert load(folder / "model.safetensors").report.is_exact


def test_what_does_not_open(tmp_path: Path, folder_of: Callable[..., Path]) -> None:
    with pytest.raises(NotFound, match="does not exist; `barrow model get NAME`"):
        open_source(tmp_path / "nowhere")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(
        NotFound, match="it is a run: `barrow checkpoint convert .*run --out MODEL --to"
    ):
        open_source(tmp_path / "run")
    (tmp_path / "run" / "best").mkdir()
    (tmp_path / "run" / "best" / "config.json").write_text("{}")
    with pytest.raises(NotFound, match="it is a run of `barrow finetune`: pass .*best$"):
        open_source(tmp_path / "run")
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(WeightsError, match="expected a folder with config.json and .safetensors"):
        open_source(tmp_path / "model.onnx")
    folder = folder_of("gpt2")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(WeightsError, match="has pytorch_model.bin, a pickle"):
        open_source(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(WeightsError, match="expected a JSON object, found list"):
        open_source(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(WeightsError, match="is not JSON"):
        read_json(folder / "config.json")
