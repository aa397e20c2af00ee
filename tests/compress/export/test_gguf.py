"""DEEPSPEED-4: files for llama.cpp."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import transformers
from tests.models.roberta_models import make_tokenizer

from barrow.compress.export.gguf import export_gguf
from barrow.models.load import load
from barrow.models.text import open_tokenizer

IDS = np.random.default_rng(0).integers(3, 90, (2, 12))
SIZES = {"vocab_size": 330, "bos_token_id": 0, "eos_token_id": 2}
CONFIGS: dict[str, Any] = {
    "llama": lambda: transformers.LlamaConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=96,
        max_position_embeddings=32,
        initializer_range=0.2,
        **SIZES,
    ),
    "gpt2": lambda: transformers.GPT2Config(
        n_embd=64, n_layer=2, n_head=4, initializer_range=0.2, **SIZES
    ),
}


def saved(folder: Path, family: str) -> Any:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[family]()).eval()
    model.save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return model


@pytest.mark.parametrize("family", list(CONFIGS))
def test_transformers_reads_the_file(family: str, tmp_path: Path) -> None:
    """By its own reader of GGUF, which llama.cpp's converter is the reference for."""
    before = saved(tmp_path / "model", family)
    export_gguf(tmp_path / "model", tmp_path / "model.gguf", stored="f32")
    after = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="model.gguf")
    with torch.inference_mode():
        one, other = (m.eval()(torch.from_numpy(IDS)).logits.numpy() for m in (before, after))
    np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("stored", ["f16", "q8_0", "q4_0"])
def test_it_opens_here_with_its_tokenizer(stored: Any, tmp_path: Path) -> None:
    before = saved(tmp_path / "model", "llama")
    export_gguf(tmp_path / "model", tmp_path / "model.gguf", stored=stored)
    loaded = load(tmp_path / "model.gguf", unstack=True, packed=stored != "f16", dtype="float32")
    model: Any = loaded.model
    ours = np.asarray(jax.jit(lambda p: model.apply(p, jnp.asarray(IDS))[0])(loaded.params))
    with torch.inference_mode():
        expected = before(torch.from_numpy(IDS)).logits.numpy()
    near = {"f16": 2e-3, "q8_0": 0.06, "q4_0": 0.6}[stored]
    assert np.abs(ours - expected).max() < near * np.abs(expected).max()
    text = "Paris is the capital, naïve 🙂."
    ids = open_tokenizer(loaded.tokenizer, settings=loaded.tokenizer_config).encode(text)
    theirs = make_tokenizer()(text, add_special_tokens=False)["input_ids"]
    assert ids.tolist() == theirs


def test_what_it_lacks_is_named(tmp_path: Path, folder: Path) -> None:
    saved(tmp_path / "model", "llama")
    with pytest.raises(ValueError, match=r"must end in \.gguf"):
        export_gguf(folder, tmp_path / "x")
    table = json.loads((tmp_path / "model" / "tokenizer.json").read_bytes())
    table["pre_tokenizer"] = {"type": "Whitespace"}
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(ValueError, match="gguf lacks this tokenizer"):
        export_gguf(tmp_path / "model", tmp_path / "x.gguf")
    assert not (tmp_path / "x.gguf").exists()
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4}
    config = transformers.Qwen2Config(hidden_size=64, num_hidden_layers=1, **heads)
    small = transformers.AutoModelForCausalLM.from_config(config)
    small.save_pretrained(tmp_path / "qwen")
    with pytest.raises(ValueError, match="lacks qwen2; it has llama and gpt2"):
        export_gguf(tmp_path / "qwen", tmp_path / "x.gguf")
