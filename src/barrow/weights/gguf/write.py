"""Write a GGUF file of a Llama or GPT-2 in a Hugging Face folder, as llama.cpp's converter."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from barrow.errors import MissingExtra
from barrow.weights.gguf.model import GPT2_NAMES, LLAMA_NAMES
from barrow.weights.gguf.rotary_rows import pairs_from_halves
from barrow.weights.gguf.tokenizer import name_of_cut
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.tensors import Array

Stored = Literal["f32", "f16", "q8_0", "q4_0"]
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
_BLOCK = 32


def write_gguf(
    folder: str | os.PathLike[str], out: str | os.PathLike[str], *, stored: Stored = "f16"
) -> None:
    """The model and tokenizer of a folder as one file; matrices as `stored`, vectors in float32.

    A matrix whose rows are not blocks of 32 numbers stays float16.
    """
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", "gguf", "writing a GGUF file") from None
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_bytes())
    family = config.get("model_type")
    if family not in ("llama", "gpt2"):
        raise ValueError(f"export --to gguf lacks {family}; it has llama and gpt2")
    writer = gguf.GGUFWriter(out, family)
    (_llama_settings if family == "llama" else _gpt2_settings)(writer, config)
    _add_tokenizer(writer, folder, config)
    tensors = open_safetensors(folder)
    for name in tensors:
        theirs, array = _named(name, np.asarray(tensors[name], np.float32), config)
        kind = _kind(gguf, theirs, array, stored)
        if kind is None:
            writer.add_tensor(theirs, array)
        else:
            writer.add_tensor(theirs, gguf.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _kind(gguf: Any, name: str, array: Array, stored: Stored) -> Any:
    types = gguf.GGMLQuantizationType
    # Positions are looked up and added: llama.cpp wants them in float32.
    if array.ndim < 2 or stored == "f32" or name.startswith("position_embd"):
        return None
    if stored == "f16" or array.shape[-1] % _BLOCK:
        return types.F16
    # A table of 4 bits would cost most; llama.cpp keeps it finer too.
    return types.Q8_0 if stored == "q8_0" or "embd" in name else types.Q4_0


def _named(name: str, array: Array, config: Mapping[str, Any]) -> tuple[str, Array]:
    """The name of a tensor in GGUF, and its numbers in that order."""
    is_llama = config["model_type"] == "llama"
    top, inner = LLAMA_NAMES if is_llama else GPT2_NAMES
    place, _, kind = name.rpartition(".")
    for ours, theirs in top.items():
        if place == theirs:
            return f"{ours}.{kind}", array
    start = "model.layers." if is_llama else "transformer.h."
    number, _, part = place.removeprefix(start).partition(".")
    found = next((ours for ours, theirs in inner.items() if theirs == part), None)
    if not place.startswith(start) or found is None:
        raise ValueError(f"export --to gguf lacks the tensor {name}")
    if is_llama and found in ("attn_q", "attn_k"):
        heads = "num_attention_heads" if found == "attn_q" else "num_key_value_heads"
        array = pairs_from_halves(array, num_heads=config[heads])
    if not is_llama and ".c_" in name and kind == "weight":
        array = np.ascontiguousarray(array.T)
    return f"blk.{number}.{found}.{kind}", array


def _llama_settings(writer: Any, config: Mapping[str, Any]) -> None:
    rope = config.get("rope_parameters") or {}
    if rope.get("rope_type", "default") != "default" or config.get("rope_scaling"):
        raise ValueError("export --to gguf lacks rotary scaling")
    width, heads = config["hidden_size"], config["num_attention_heads"]
    if config.get("head_dim", width // heads) * heads != width:
        raise ValueError("export --to gguf lacks heads that together are not as wide as the model")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(float(rope.get("rope_theta", config.get("rope_theta", 10000.0))))
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(config["vocab_size"])


def _gpt2_settings(writer: Any, config: Mapping[str, Any]) -> None:
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


def _add_tokenizer(writer: Any, folder: Path, config: Mapping[str, Any]) -> None:
    """Byte-level BPE with a known pattern; without a tokenizer.json the file has none."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return
    table = json.loads(path.read_bytes())
    model, cut = table["model"], name_of_cut(table.get("pre_tokenizer"))
    if model.get("type") != "BPE" or cut is None:
        raise ValueError(
            "export --to gguf lacks this tokenizer; it has byte-level BPE that splits words as "
            "GPT-2, SmolLM, Llama 3 or Qwen 2"
        )
    pieces = {number: piece for piece, number in model["vocab"].items()}
    types = dict.fromkeys(pieces, _NORMAL)
    for one in table.get("added_tokens", ()):
        pieces[one["id"]] = one["content"]
        types[one["id"]] = _CONTROL if one["special"] else _USER_DEFINED
    size = config["vocab_size"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(cut)
    writer.add_token_list([pieces.get(i, f"[unused{i}]") for i in range(size)])
    writer.add_token_types([types.get(i, _NORMAL) for i in range(size)])
    pairs = model["merges"]
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in pairs])
    for key, add in (
        ("bos_token_id", writer.add_bos_token_id),
        ("eos_token_id", writer.add_eos_token_id),
    ):
        value = config.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, int):
            add(value)
    writer.add_add_bos_token(table.get("post_processor") is not None)
