"""Write a GGUF file of a Llama or GPT-2 in a Hugging Face folder, as llama.cpp's converter."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from barrow.errors import MissingExtra
from barrow.weights.gguf.model import GPT2_NAMES, LLAMA_NAMES
from barrow.weights.gguf.rotary_rows import pairs_from_halves
from barrow.weights.gguf.sentencepiece import merges_of, scores_of
from barrow.weights.gguf.tokenizer import (
    BYTE,
    CONTROL,
    ENDS,
    KEPT,
    NORMAL,
    PARTS,
    ROLES,
    SETTINGS,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    leading_space,
    name_of_cut,
)
from barrow.weights.model_card import CARD
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.tensors import Array

Stored = Literal["f32", "f16", "q8_0", "q4_0"]
_BLOCK = 32
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_LACKS = (
    "export --to gguf lacks this tokenizer; it has byte-level BPE that splits words as GPT-2, "
    "SmolLM, Llama 3 or Qwen 2, and SentencePiece BPE as Llama 2; pass --to hf"
)
# Settings that have keys of their own, or are of no use elsewhere.
_NOT_KEPT = ("chat_template", "auto_map", "added_tokens_decoder")


def write_gguf(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    stored: Stored = "f16",
    settings: Mapping[str, Any] | None = None,
    around: tuple[Sequence[int], Sequence[int]] = ((), ()),
    card: Mapping[str, str] | None = None,
) -> None:
    """The model and tokenizer of a folder as one file; matrices as `stored`, vectors in float32.

    A matrix whose rows are not blocks of 32 numbers stays float16. `settings` are those of its
    tokenizer_config.json, with the chat template; `around` are the ids that its tokenizer puts
    before and after a text, and `card` has its name and licence.
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
    _add_about(writer, gguf, card or {}, stored)
    if (folder / "tokenizer.json").is_file():
        words = json.loads((folder / "tokenizer.json").read_bytes())
        _add_tokenizer(writer, words, settings or {}, config["vocab_size"])
        _add_special(writer, words, settings or {}, config, around)
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


def _add_about(writer: Any, gguf: Any, card: Mapping[str, str], stored: Stored) -> None:
    """The name, the licence, and how the matrices are stored."""
    for key, name in CARD.items():
        if key in card:
            writer.add_string(f"general.{name}", card[key])
    kind = "ALL_F32" if stored == "f32" else f"MOSTLY_{stored.upper()}"
    writer.add_file_type(gguf.LlamaFileType[kind])
    if stored in ("q8_0", "q4_0"):
        writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _add_tokenizer(
    writer: Any, table: Mapping[str, Any], settings: Mapping[str, Any], size: int
) -> None:
    """Byte-level BPE with a known pattern, or SentencePiece BPE: `size` pieces and their merges."""
    model, added = table["model"], table.get("added_tokens") or ()
    cut, leading = name_of_cut(table.get("pre_tokenizer")), leading_space(table)
    is_scored = leading is not None and bool(model.get("byte_fallback"))
    if model.get("type") != "BPE" or (cut is None and not is_scored):
        raise ValueError(_LACKS)
    pieces = {number: piece for piece, number in model["vocab"].items()}
    types = {
        n: BYTE if is_scored and _BYTE.fullmatch(piece) else NORMAL for n, piece in pieces.items()
    }
    for one in added:
        pieces[one["id"]] = one["content"]
        types[one["id"]] = CONTROL if one["special"] else USER_DEFINED
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    if is_scored:
        if (unknown := model["vocab"].get(model.get("unk_token"))) is not None:
            types[unknown] = UNKNOWN
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_scores(_scores(model["vocab"], pairs, {one["id"] for one in added}, size))
        writer.add_add_space_prefix(leading)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(cut)
        writer.add_token_merges([" ".join(pair) for pair in pairs])
        if "add_prefix_space" in settings:
            writer.add_add_space_prefix(False)
    writer.add_token_list([pieces.get(i, f"[PAD{i}]") for i in range(size)])
    writer.add_token_types([types.get(i, UNUSED) for i in range(size)])


def _scores(
    vocab: Mapping[str, int], pairs: Sequence[tuple[str, ...]], aside: set[int], size: int
) -> list[float]:
    """The merges as scores; llama.cpp merges any pieces that make one, so none may be left out."""
    scores = scores_of(vocab, pairs, size)
    wanted = {pair for pair in pairs if vocab["".join(pair)] not in aside}
    if {tuple(pair) for pair in merges_of(vocab, scores, aside=aside)} != wanted:
        raise ValueError(_LACKS)
    return scores


def _add_special(
    writer: Any,
    table: Mapping[str, Any],
    settings: Mapping[str, Any],
    config: Mapping[str, Any],
    around: tuple[Sequence[int], Sequence[int]],
) -> None:
    """Special tokens by their role, what is put around a text, the template, and other settings."""
    added = {one["content"]: one for one in table.get("added_tokens") or ()}
    ends = config.get("eos_token_id")
    ends = [end for end in (ends if isinstance(ends, list) else [ends]) if isinstance(end, int)]
    ids = {"bos_token": config.get("bos_token_id"), "pad_token": config.get("pad_token_id")}
    ids["eos_token"] = next(iter(ends), None)
    for role in ROLES:
        said = settings.get(role)
        said = said.get("content") if isinstance(said, Mapping) else said
        if said in added:
            ids[role] = added[said]["id"]
    for role, edge in zip(("bos_token", "eos_token"), around, strict=True):
        if len(edge) > 1:
            raise ValueError(
                f"export --to gguf lacks {len(edge)} tokens around a text; pass --to hf"
            )
        ids[role] = next(iter(edge), ids[role])
        getattr(writer, f"add_add_{role}")(bool(edge))
    more = [end for end in ends if end != ids["eos_token"]]
    for key, number in (
        *((ROLES[role], number) for role, number in ids.items()),
        *zip(ENDS, more, strict=False),
    ):
        if isinstance(number, int):
            writer.add_uint32(f"tokenizer.ggml.{key}_token_id", number)
    if settings.get("chat_template") is not None:
        writer.add_chat_template(settings["chat_template"])
    kept = {key: value for key, value in settings.items() if key not in _NOT_KEPT}
    flags = {str(one["id"]): {k: one[k] for k in one if k != "id"} for one in added.values()}
    writer.add_string(SETTINGS, json.dumps({**kept, "added_tokens_decoder": flags}))
    writer.add_string(KEPT, json.dumps({key: table.get(key) for key in PARTS}))
