"""A model from another program's file, in Hugging Face's terms, and its folder on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barrow.files import write_bytes
from barrow.weights.model_card import write_card
from barrow.weights.safetensors_write import DEFAULT_SHARD_BYTES, Written, write_safetensors
from barrow.weights.tensors import Tensors


@dataclass(frozen=True)
class ForeignModel:
    """Contents of ``config.json``, tensors under Hugging Face's names, and the tokenizer.

    `tokenizer` is ``tokenizer.json``, `tokenizer_config` is ``tokenizer_config.json``; both are
    None where the file holds no tokenizer. `card` is the head of ``README.md``.
    """

    config: Mapping[str, Any]
    tensors: Tensors
    tokenizer: Mapping[str, Any] | None = None
    tokenizer_config: Mapping[str, Any] | None = None
    card: Mapping[str, str] = field(default_factory=dict)


def save_huggingface(
    folder: str | os.PathLike[str],
    model: ForeignModel,
    *,
    max_shard_bytes: int = DEFAULT_SHARD_BYTES,
) -> Written:
    """Write a folder that `transformers`, and `barrow.models.open`, open; a tensor at a time."""
    folder = Path(folder)
    written = write_safetensors(
        folder, model.tensors, metadata={"format": "pt"}, max_shard_bytes=max_shard_bytes
    )
    if model.tokenizer is not None:
        write_json(folder / "tokenizer.json", model.tokenizer)
    if model.tokenizer_config is not None:
        write_json(folder / "tokenizer_config.json", model.tokenizer_config)
    write_card(folder, model.card)
    write_json(folder / "config.json", model.config)
    return written


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a table as indented JSON."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def tokenizer_config(
    *,
    special: Mapping[str, str],
    begins: bool,
    ends: bool = False,
    max_length: int,
    chat_template: str | list[dict[str, str]] | None = None,
) -> dict[str, Any]:
    """``tokenizer_config.json``: the special tokens, and whether a text begins or ends with one."""
    template = {} if chat_template is None else {"chat_template": chat_template}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **special,
        "add_bos_token": begins,
        "add_eos_token": ends,
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        **template,
    }


def llama_config(
    *,
    hidden_size: int,
    intermediate_size: int,
    num_hidden_layers: int,
    num_attention_heads: int,
    num_key_value_heads: int,
    vocab_size: int,
    max_position_embeddings: int,
    rms_norm_eps: float,
    rope_theta: float,
    tie_word_embeddings: bool,
    attention_bias: bool = False,
    bos_token_id: int | None,
    eos_token_id: int | None,
) -> dict[str, Any]:
    """``config.json`` of a Llama."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": hidden_size,
        "intermediate_size": intermediate_size,
        "num_hidden_layers": num_hidden_layers,
        "num_attention_heads": num_attention_heads,
        "num_key_value_heads": num_key_value_heads,
        "head_dim": hidden_size // num_attention_heads,
        "vocab_size": vocab_size,
        "max_position_embeddings": max_position_embeddings,
        "rms_norm_eps": rms_norm_eps,
        "rope_theta": rope_theta,
        "tie_word_embeddings": tie_word_embeddings,
        "attention_bias": attention_bias,
        "mlp_bias": False,
        "bos_token_id": bos_token_id,
        "eos_token_id": eos_token_id,
        "torch_dtype": "float32",
    }
