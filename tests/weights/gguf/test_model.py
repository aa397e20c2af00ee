"""GGUF to Hugging Face: models laid out as llama.cpp's converter does come back the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from barrow.errors import WeightsError
from barrow.weights import open_gguf_model, save_huggingface

LLAMA = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 64,
    "llama.embedding_length": 16,
    "llama.feed_forward_length": 24,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 10000.0,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}
LLAMA_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
GPT2 = {
    "general.architecture": "gpt2",
    "gpt2.block_count": 2,
    "gpt2.context_length": 32,
    "gpt2.embedding_length": 16,
    "gpt2.feed_forward_length": 64,
    "gpt2.attention.head_count": 4,
    "gpt2.attention.layer_norm_epsilon": 1e-5,
}
GPT2_NAMES = {
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
    "ln_1": "attn_norm",
    "ln_2": "ffn_norm",
    "transformer.wte": "token_embd",
    "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm",
}


def llama(**changes: Any) -> LlamaForCausalLM:
    torch.manual_seed(0)
    settings = {"tie_word_embeddings": False, "attention_bias": False, **changes}
    config = LlamaConfig(
        vocab_size=30,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=1e-5,
        max_position_embeddings=64,
        **settings,
    )
    model = LlamaForCausalLM(config)
    for parameter in model.parameters():  # biases and gains too
        torch.nn.init.normal_(parameter, 0.1, 0.3)
    return model


def renamed(name: str, table: dict[str, str]) -> str:
    place, _, kind = name.rpartition(".")
    layer = next((part for part in place.split(".") if part.isdigit()), None)
    part = next(new for old, new in table.items() if place.endswith(old))
    return f"blk.{layer}.{part}.{kind}" if layer else f"{part}.{kind}"


def for_neighbours(rows: np.ndarray, num_heads: int) -> np.ndarray:
    """Rows as llama.cpp's converter orders them: of each head, first of either half, and so on."""
    out, size = np.empty_like(rows), len(rows) // num_heads
    for row in range(len(rows)):
        head, place = divmod(row, size)
        out[row] = rows[head * size + (place % 2) * (size // 2) + place // 2]
    return out


def llama_tensors(model: LlamaForCausalLM) -> dict[str, np.ndarray]:
    tensors = {}
    for name, tensor in model.state_dict().items():
        array = tensor.numpy()
        if ".q_proj." in name or ".k_proj." in name:
            array = for_neighbours(array, 4 if ".q_proj." in name else 2)
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        tensors[renamed(name, LLAMA_NAMES)] = array
    return tensors


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": True}, {"attention_bias": True}])
def test_a_llama(gguf: Callable, tmp_path: Path, changes: dict[str, bool]) -> None:
    model = llama(**changes)
    found = open_gguf_model(gguf(LLAMA, llama_tensors(model)))
    assert found.config["rms_norm_eps"] == 1e-5  # not 9.999999747378752e-06
    assert found.config["vocab_size"] == 30
    assert found.tokenizer is None
    save_huggingface(tmp_path / "hf", found)
    loaded, report = LlamaForCausalLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(report.values())
    ids = torch.arange(12).reshape(1, -1)
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, model(ids).logits)


@pytest.mark.parametrize("tied", [True, False])
def test_a_gpt2(gguf: Callable, tmp_path: Path, tied: bool) -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=30,
        n_embd=16,
        n_layer=2,
        n_head=4,
        n_positions=32,
        tie_word_embeddings=tied,
    )
    model = GPT2LMHeadModel(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0, 0.3)
    tensors = {}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight":
            tensors |= {} if tied else {"output.weight": tensor.numpy()}
            continue
        turned = ".c_" in name and name.endswith("weight")
        tensors[renamed(name, GPT2_NAMES)] = tensor.numpy().T if turned else tensor.numpy()
    save_huggingface(tmp_path / "hf", open_gguf_model(gguf(GPT2, tensors)))
    loaded, report = GPT2LMHeadModel.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(report.values())
    ids = torch.arange(12).reshape(1, -1)
    with torch.no_grad():
        assert torch.equal(loaded.eval()(ids).logits, model(ids).logits)


def test_quantised_rows_are_decoded_and_reordered(gguf: Callable) -> None:
    tensors: dict[str, Any] = llama_tensors(llama())
    half = np.random.default_rng(0).normal(size=(16, 16)).astype("<f2")
    tensors["blk.0.attn_q.weight"] = (1, (16, 16), half.tobytes())
    found = open_gguf_model(gguf(LLAMA, tensors)).tensors["model.layers.0.self_attn.q_proj.weight"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(for_neighbours(found, 4), half.astype(np.float32))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"general.architecture": "mamba"}, "architecture 'mamba' is not supported"),
        ({"general.architecture": None}, "architecture None"),
        ({"llama.block_count": None}, "llama.block_count is missing"),
        ({"llama.block_count": 2.0}, "llama.block_count is 2.0, expected a count"),
        ({"llama.block_count": 3}, "tensor 'blk.2.attn_norm.weight': is missing"),
        ({"llama.block_count": 1}, "tensor 'blk.1.[a-z_]+.weight': has no place in the model"),
        (
            {"llama.attention.head_count": 3},
            "16 features do not divide into 3 heads, or the heads into 2",
        ),
        ({"llama.attention.head_count": 0}, "do not divide"),
        ({"llama.attention.head_count_kv": 4}, "tensor .*k_proj.weight': expected shape .16, 16."),
        ({"llama.feed_forward_length": 25}, r"expected shape \[25, 16\] from the metadata, found"),
        ({"llama.rope.dimension_count": 2}, "llama.rope.dimension_count must be 4, got 2"),
        ({"llama.attention.key_length": 8}, "key_length must be 4, got 8"),
        ({"llama.expert_count": 8}, "llama.expert_count must be 0, got 8"),
        ({"llama.rope.scaling.type": "yarn"}, "rotary scaling 'yarn' is not supported"),
        ({"llama.rope.freq_base": float("nan")}, "freq_base is nan, expected a positive number"),
        ({"llama.attention.layer_norm_rms_epsilon": "x"}, "is 'x', expected a positive number"),
    ],
)
def test_settings_that_contradict(gguf: Callable, changes: dict[str, Any], words: str) -> None:
    metadata = {k: v for k, v in {**LLAMA, **changes}.items() if v is not None}
    with pytest.raises(WeightsError, match=words):
        open_gguf_model(gguf(metadata, llama_tensors(llama())))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rope_freqs.weight": np.ones(2)}, "custom rotary angles .* are not supported"),
        ({"extra.weight": np.ones(2)}, "tensor 'extra.weight': has no place in the model"),
        ({"blk.0.attn_q.scale": np.ones(2)}, "has no place in the model"),
        ({"output_norm.weight": None}, "tensor 'output_norm.weight': is missing"),
        ({"blk.1.ffn_up.weight": None}, "tensor 'blk.1.ffn_up.weight': is missing"),
        ({"blk.0.attn_q.weight": np.ones((12, 16))}, "12 rows are not 4 heads"),
        ({"output_norm.weight": np.ones(17)}, r"expected shape \[16\] from the metadata"),
    ],
)
def test_tensors_that_contradict(gguf: Callable, changes: dict[str, Any], words: str) -> None:
    tensors = {**llama_tensors(llama()), **changes}
    with pytest.raises(WeightsError, match=words):
        open_gguf_model(gguf(LLAMA, {k: v for k, v in tensors.items() if v is not None}))


def test_a_tokenizer_larger_than_the_embedding(gguf: Callable) -> None:
    tokenizer = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [f"t{i}" for i in range(31)],
    }
    with pytest.raises(WeightsError, match="the tokenizer has 31 pieces, the embedding 30 rows"):
        open_gguf_model(gguf({**LLAMA, **tokenizer}, llama_tensors(llama())))
