"""Open llama2.c's float32 checkpoints: seven numbers, then every tensor in a fixed order.

The header is int32 ``dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len``; a
negative vocabulary means that the classifier is not the embedding, and is at the end. Tensors of a
kind are stacked over all layers, [layers, …]. Two old tables of rotary angles are skipped.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.foreign_model import ForeignModel, llama_config
from barrow.weights.gguf.rotary_rows import halves_from_pairs
from barrow.weights.mapped_file import MappedFile
from barrow.weights.tensors import LazyTensor, Tensors

_HEADER = struct.Struct("<7i")
_VERSIONED_MAGIC = 0x616B3432  # "ak42", the later formats of the same program
_FLOAT = np.dtype("<f4")
# run.c has both as constants.
_NORM_EPSILON = 1e-5
_ROPE_THETA = 10000.0


@dataclass(frozen=True)
class Llama2cHeader:
    """Sizes of a model, as the file gives them; `vocab_size` without its sign."""

    dim: int
    hidden_dim: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    vocab_size: int
    seq_len: int
    shared_classifier: bool

    @property
    def head_dim(self) -> int:
        """Features of a head."""
        return self.dim // self.num_heads


def open_llama2c(path: str | os.PathLike[str]) -> ForeignModel:
    """The model, its tensors mapped from the file; `barrow.tokens.load` opens its tokenizer.

    Rows of queries and keys are reordered for Hugging Face's rotary embedding when they are read.
    """
    file = MappedFile(path)
    header = _read_header(file)
    entries = _entries(file, header)
    config = llama_config(
        hidden_size=header.dim,
        intermediate_size=header.hidden_dim,
        num_hidden_layers=header.num_layers,
        num_attention_heads=header.num_heads,
        num_key_value_heads=header.num_kv_heads,
        vocab_size=header.vocab_size,
        max_position_embeddings=header.seq_len,
        rms_norm_eps=_NORM_EPSILON,
        rope_theta=_ROPE_THETA,
        tie_word_embeddings=header.shared_classifier,
        bos_token_id=1,
        eos_token_id=2,
    )
    return ForeignModel(config, Tensors(entries))


def _read_header(file: MappedFile) -> Llama2cHeader:
    data = file.read(0, _HEADER.size)
    if int.from_bytes(data[:4], "little") == _VERSIONED_MAGIC:
        raise WeightsError(
            "a later llama2.c format (magic ak42); export it as version 0, or as Hugging Face",
            path=file.path,
        )
    if len(data) < _HEADER.size:
        raise WeightsError(f"expected a header of 28 bytes, found {len(data)}", path=file.path)
    dim, hidden, layers, heads, kv_heads, vocab, seq_len = _HEADER.unpack(data)
    sizes = (dim, hidden, layers, heads, kv_heads, abs(vocab), seq_len)
    if min(sizes) < 1:
        raise WeightsError(
            f"sizes must be positive, got {sizes}; is it a llama2.c file?", path=file.path
        )
    if dim % heads or heads % kv_heads or dim // heads % 2:
        raise WeightsError(
            f"dim {dim} does not divide into {heads} heads, or the heads into {kv_heads} key heads",
            path=file.path,
        )
    return Llama2cHeader(dim, hidden, layers, heads, kv_heads, abs(vocab), seq_len, vocab > 0)


def _entries(file: MappedFile, header: Llama2cHeader) -> dict[str, LazyTensor]:
    dim, hidden, layers = header.dim, header.hidden_dim, header.num_layers
    kv_dim = header.num_kv_heads * header.head_dim
    angles = header.seq_len * header.head_dim // 2
    queries = partial(halves_from_pairs, num_heads=header.num_heads)
    keys = partial(halves_from_pairs, num_heads=header.num_kv_heads)
    entries: dict[str, LazyTensor] = {}
    at = _HEADER.size

    def one(shape: tuple[int, ...]) -> LazyTensor:
        nonlocal at
        start, at = at, at + int(np.prod(shape, dtype=object)) * _FLOAT.itemsize
        return file.lazy(_FLOAT, shape, start)

    def each(name: str, shape: tuple[int, ...]) -> None:
        for layer in range(layers):
            entry = one(shape)
            if name == "self_attn.q_proj":
                entry = entry.then(queries)
            elif name == "self_attn.k_proj":
                entry = entry.then(keys)
            entries[f"model.layers.{layer}.{name}.weight"] = entry

    # A false number of layers must not make a huge table.
    least = layers * 2 * dim * _FLOAT.itemsize
    if least > file.size:
        raise _wrong_size(file.path, f"at least {least:,}", file.size)
    entries["model.embed_tokens.weight"] = one((header.vocab_size, dim))
    each("input_layernorm", (dim,))
    each("self_attn.q_proj", (dim, dim))
    each("self_attn.k_proj", (kv_dim, dim))
    each("self_attn.v_proj", (kv_dim, dim))
    each("self_attn.o_proj", (dim, dim))
    each("post_attention_layernorm", (dim,))
    each("mlp.gate_proj", (hidden, dim))
    each("mlp.down_proj", (dim, hidden))
    each("mlp.up_proj", (hidden, dim))
    entries["model.norm.weight"] = one((dim,))
    at += 2 * angles * _FLOAT.itemsize
    if not header.shared_classifier:
        entries["lm_head.weight"] = one((header.vocab_size, dim))
    if at != file.size:
        raise _wrong_size(file.path, f"{at:,}", file.size)
    return entries


def _wrong_size(path: Path, expected: str, found: int) -> WeightsError:
    return WeightsError(
        f"the sizes in its header need {expected} bytes, found {found:,}: the file is "
        "truncated, or not in llama2.c's float32 format",
        path=path,
    )
