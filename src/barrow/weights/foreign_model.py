"""A model from another program's file, in Hugging Face's terms, and its folder on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from barrow.files import listed, make_folder, sha256_of, write_bytes
from barrow.weights.model_card import write_card
from barrow.weights.safetensors_write import (
    DEFAULT_SHARD_BYTES,
    Written,
    refuse_model,
    write_safetensors,
)
from barrow.weights.tensors import Tensors

# Of a tokenizer and its templates; notes such as README.md are not part of a model.
_TEXTS = (".json", ".jinja", ".txt", ".model")


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
    tables = {
        "tokenizer.json": model.tokenizer,
        "tokenizer_config.json": model.tokenizer_config,
        "config.json": model.config,
    }
    some = {name: table for name, table in tables.items() if table is not None}
    refuse_model(Path(folder))
    write_card(make_folder(folder), model.card)
    return write_model(folder, model.tensors, some, max_shard_bytes=max_shard_bytes)


def write_model(
    folder: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]],
    *,
    metadata: Mapping[str, str] | None = None,
    max_shard_bytes: int = DEFAULT_SHARD_BYTES,
) -> Written:
    """Write tensors and then JSON tables by name; the last makes the folder complete.

    The header has the SHA-256 of the tensors, of the tables, and of texts that are there already.
    """
    folder = Path(folder)
    texts = {name: _json_bytes(table) for name, table in tables.items()}
    beside = {name: sha256_of(folder / name) for name in listed(folder) if name.endswith(_TEXTS)}
    beside |= {name: sha256(data).hexdigest() for name, data in texts.items()}
    written = write_safetensors(
        folder,
        tensors,
        metadata=metadata or {"format": "pt"},
        max_shard_bytes=max_shard_bytes,
        beside=beside,
    )
    for name, data in texts.items():
        write_bytes(folder / name, data)
    return written


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a table as indented JSON."""
    write_bytes(path, _json_bytes(value))


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


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
