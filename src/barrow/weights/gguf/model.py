"""A model from a GGUF file: configuration, tensors and tokenizer in Hugging Face's terms.

Architectures: ``llama`` (Llama, Mistral, SmolLM2) and ``gpt2``. An unknown setting that would
change what the model computes is an error; so is an unknown tensor.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from barrow.errors import WeightsError
from barrow.weights.foreign_model import ForeignModel, llama_config
from barrow.weights.gguf.rotary_rows import halves_from_pairs
from barrow.weights.gguf.tensors import Gguf, open_gguf
from barrow.weights.gguf.tokenizer import (
    ENDS,
    gguf_tokenizer,
    gguf_tokenizer_config,
    special_ids,
)
from barrow.weights.model_card import CARD
from barrow.weights.tensors import LazyTensor, Tensors

_LLAMA_TOP = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_LLAMA_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_GPT2_TOP = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
}
_GPT2_LAYER = {
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
# Of tensors outside the layers, and inside: GGUF's and Hugging Face's.
LLAMA_NAMES = (_LLAMA_TOP, _LLAMA_LAYER)
GPT2_NAMES = (_GPT2_TOP, _GPT2_LAYER)
_NAME = re.compile(r"(?:blk\.(\d+)\.)?([a-z_]+)\.(weight|bias)")
_REFUSED = {
    "rope_freqs.weight": "custom rotary angles (Llama 3.1 and later)",
}


def open_gguf_model(path: str | os.PathLike[str]) -> ForeignModel:
    """The model of a GGUF file; tensors are decoded to float32 when they are read.

    Rows of a Llama's queries and keys, which llama.cpp's converter permuted, are put back in the
    order of Hugging Face; GPT-2's matrices, which it transposed, are transposed back.
    """
    gguf = open_gguf(path)
    architecture = gguf.metadata.get("general.architecture")
    if architecture == "llama":
        config, entries = _llama(gguf)
    elif architecture == "gpt2":
        config, entries = _gpt2(gguf)
    else:
        raise WeightsError(
            f"architecture {architecture!r} is not supported (llama and gpt2 are; "
            "open_gguf gives the tensors of any)",
            path=path,
        )
    _check_shapes(gguf, config, entries)
    tokenizer = gguf_tokenizer(gguf.metadata, path=path)
    if tokenizer is None:
        return ForeignModel(config, Tensors(entries), card=_card(gguf))
    pieces = len(gguf.metadata["tokenizer.ggml.tokens"])
    if pieces > config["vocab_size"]:
        raise WeightsError(
            f"the tokenizer has {pieces:,} pieces, the embedding {config['vocab_size']:,} rows",
            path=path,
        )
    longest = _count(gguf, architecture, "context_length")
    roles = gguf_tokenizer_config(gguf.metadata, max_length=longest, path=path)
    config |= _ids(special_ids(gguf.metadata, path))
    return ForeignModel(config, Tensors(entries), tokenizer, roles, _card(gguf))


def _ids(special: Mapping[str, int]) -> dict[str, Any]:
    """Ids as config.json has them; more than one may end a text."""
    named = {special[key]: None for key in ("eos_token", *ENDS) if key in special}
    ends = list(named)
    return {
        "bos_token_id": special.get("bos_token"),
        "eos_token_id": ends if len(ends) > 1 else next(iter(ends), None),
        **({"pad_token_id": special["pad_token"]} if "pad_token" in special else {}),
    }


def _card(gguf: Gguf) -> dict[str, str]:
    """The name and the licence."""
    said = {key: gguf.metadata.get(f"general.{name}") for key, name in CARD.items()}
    return {key: text for key, text in said.items() if isinstance(text, str) and text}


def _llama(gguf: Gguf) -> tuple[dict[str, Any], dict[str, LazyTensor]]:
    setting = partial(_count, gguf, "llama")
    heads = setting("attention.head_count")
    kv_heads = setting("attention.head_count_kv", heads)
    hidden = setting("embedding_length")
    if heads < 1 or kv_heads < 1 or hidden % heads or heads % kv_heads or hidden // heads % 2:
        raise WeightsError(
            f"{hidden} features do not divide into {heads} heads, or the heads into "
            f"{kv_heads} key heads",
            path=gguf.path,
        )
    for key, plain in (
        ("rope.dimension_count", hidden // heads),
        ("attention.key_length", hidden // heads),
        ("attention.value_length", hidden // heads),
        ("expert_count", 0),
    ):
        if (found := setting(key, plain)) != plain:
            raise WeightsError(f"llama.{key} must be {plain}, got {found}", path=gguf.path)
    scaling = gguf.metadata.get("llama.rope.scaling.type", "none")
    if scaling != "none":
        raise WeightsError(f"rotary scaling {scaling!r} is not supported", path=gguf.path)
    entries = {}
    for name, layer, part, kind in _parts(gguf, _LLAMA_TOP, _LLAMA_LAYER, "model.layers"):
        entry = gguf.tensors.entry(name)
        if part in ("attn_q", "attn_k"):
            num_heads = heads if part == "attn_q" else kv_heads
            if entry.shape[0] % (2 * num_heads):
                raise WeightsError(
                    f"{entry.shape[0]} rows are not {num_heads} heads", path=gguf.path, tensor=name
                )
            change = partial(halves_from_pairs, num_heads=num_heads)
            entry = entry.then(change, by_rows=True)
        entries[f"{layer}.{kind}"] = entry
    config = llama_config(
        hidden_size=hidden,
        intermediate_size=setting("feed_forward_length"),
        num_hidden_layers=setting("block_count"),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=_num_rows(gguf, "token_embd.weight"),
        max_position_embeddings=setting("context_length"),
        rms_norm_eps=_number(gguf, "llama", "attention.layer_norm_rms_epsilon"),
        rope_theta=_number(gguf, "llama", "rope.freq_base", 10000.0),
        tie_word_embeddings="lm_head.weight" not in entries,
        attention_bias="model.layers.0.self_attn.q_proj.bias" in entries,
        bos_token_id=gguf.metadata.get("tokenizer.ggml.bos_token_id"),
        eos_token_id=gguf.metadata.get("tokenizer.ggml.eos_token_id"),
    )
    return config, entries


def _gpt2(gguf: Gguf) -> tuple[dict[str, Any], dict[str, LazyTensor]]:
    setting = partial(_count, gguf, "gpt2")
    entries = {}
    for name, layer, part, kind in _parts(gguf, _GPT2_TOP, _GPT2_LAYER, "transformer.h"):
        entry = gguf.tensors.entry(name)
        if part in ("attn_qkv", "attn_output", "ffn_up", "ffn_down") and kind == "weight":
            entry = entry.then(np.transpose, shape=entry.shape[::-1])
        entries[f"{layer}.{kind}"] = entry
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "n_embd": setting("embedding_length"),
        "n_inner": setting("feed_forward_length"),
        "n_layer": setting("block_count"),
        "n_head": setting("attention.head_count"),
        "n_positions": setting("context_length"),
        "vocab_size": _num_rows(gguf, "token_embd.weight"),
        "layer_norm_epsilon": _number(gguf, "gpt2", "attention.layer_norm_epsilon"),
        "tie_word_embeddings": "lm_head.weight" not in entries,
        "bos_token_id": gguf.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": gguf.metadata.get("tokenizer.ggml.eos_token_id"),
        "torch_dtype": "float32",
    }
    return config, entries


def _parts(
    gguf: Gguf, top: Mapping[str, str], inner: Mapping[str, str], layers: str
) -> list[tuple[str, str, str, str]]:
    """Each tensor's name in the file, its place in the model, its part, weight or bias."""
    num_layers = _count(gguf, str(gguf.metadata["general.architecture"]), "block_count")
    found = []
    for name in gguf.tensors:
        if name in _REFUSED:
            raise WeightsError(f"{_REFUSED[name]} are not supported", path=gguf.path, tensor=name)
        match = _NAME.fullmatch(name)
        number, part, kind = match.groups() if match else (None, "", "")
        known = top if number is None else inner
        if part not in known or (number is not None and int(number) >= num_layers):
            raise WeightsError("has no place in the model", path=gguf.path, tensor=name)
        place = known[part] if number is None else f"{layers}.{int(number)}.{known[part]}"
        found.append((name, place, part, kind))
    for number in range(num_layers):
        for part in inner:
            if f"blk.{number}.{part}.weight" not in gguf.tensors:
                raise WeightsError(
                    "is missing", path=gguf.path, tensor=f"blk.{number}.{part}.weight"
                )
    for part in top:
        if part != "output" and f"{part}.weight" not in gguf.tensors:
            raise WeightsError("is missing", path=gguf.path, tensor=f"{part}.weight")
    return found


def _check_shapes(gguf: Gguf, config: Mapping[str, Any], entries: Mapping[str, LazyTensor]) -> None:
    """Check that the sizes in the metadata match the tensors."""
    hidden = config.get("hidden_size", config.get("n_embd"))
    inner = config.get("intermediate_size", config.get("n_inner"))
    heads = config.get("num_attention_heads", config.get("n_head"))
    keys = hidden // heads * config.get("num_key_value_heads", heads)
    expected = {
        "embed_tokens": (config["vocab_size"], hidden),
        "lm_head": (config["vocab_size"], hidden),
        "wte": (config["vocab_size"], hidden),
        "wpe": (config.get("n_positions"), hidden),
        "q_proj": (hidden, hidden),
        "k_proj": (keys, hidden),
        "v_proj": (keys, hidden),
        "o_proj": (hidden, hidden),
        "gate_proj": (inner, hidden),
        "up_proj": (inner, hidden),
        "down_proj": (hidden, inner),
        "attn.c_attn": (hidden, 3 * hidden),
        "attn.c_proj": (hidden, hidden),
        "mlp.c_fc": (hidden, inner),
        "mlp.c_proj": (inner, hidden),
    }
    for name, entry in entries.items():
        place, _, kind = name.rpartition(".")
        shape = next((s for part, s in expected.items() if place.endswith(part)), (hidden,))
        if kind == "bias":
            # Conv1D of GPT-2 is [in, out], a linear layer [out, in].
            shape = (shape[-1] if ".c_" in name else shape[0],)
        if entry.shape != shape:
            raise WeightsError(
                f"expected shape {list(shape)} from the metadata, found {list(entry.shape)}",
                path=gguf.path,
                tensor=name,
            )


def _count(gguf: Gguf, architecture: str, key: str, default: int | None = None) -> int:
    value = gguf.metadata.get(f"{architecture}.{key}", default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _not_a(gguf, f"{architecture}.{key}", value, "a count")
    return value


def _number(gguf: Gguf, architecture: str, key: str, default: float | None = None) -> float:
    value = gguf.metadata.get(f"{architecture}.{key}", default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise _not_a(gguf, f"{architecture}.{key}", value, "a positive number")
    # A float32 as its shortest decimal: 1e-05, not 9.999999747378752e-06.
    return float(str(np.float32(value)))


def _not_a(gguf: Gguf, key: str, value: object, what: str) -> WeightsError:
    found = "is missing" if value is None else f"is {value!r}, expected {what}"
    return WeightsError(f"{key} {found}", path=gguf.path)


def _num_rows(gguf: Gguf, name: str) -> int:
    shape = gguf.tensors.entry(name).shape
    return shape[0] if shape else 0
