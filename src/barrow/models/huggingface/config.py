"""Hugging Face's config.json of decoders, to a `DecoderConfig`.

A setting that would change the results and is not supported is refused by name; what concerns only
training or files is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from barrow.models.decoder.model import DecoderConfig
from barrow.models.huggingface.rope import NEOX_SHARE, rotary_of
from barrow.models.huggingface.settings import Settings
from barrow.nn.layers.experts import Routing

FAMILIES: Mapping[str, str] = {
    "gpt2": "GPT-2",
    "gpt_neox": "GPT-NeoX, Pythia",
    "llama": "Llama 1–3, SmolLM, TinyLlama, stories",
    "mistral": "Mistral",
    "mixtral": "Mixtral",
    "olmo2": "OLMo 2",
    "olmoe": "OLMoE",
    "qwen2": "Qwen 2 and 2.5 without a sliding window",
    "qwen3": "Qwen 3 without a sliding window",
    "qwen3_moe": "Qwen 3 with experts in all layers",
}
ENCODERS: Mapping[str, str] = {
    "roberta": "RoBERTa, DistilRoBERTa: masked tokens, hidden states, labels of texts and tokens",
}


def config_of(hf: Mapping[str, Any]) -> DecoderConfig:
    """The architecture that a config.json describes."""
    family = hf.get("model_type")
    if family not in _READERS:
        architectures = hf.get("architectures")
        also = f" (architectures {architectures})" if architectures else ""
        opens = ", ".join(f"{name} ({what})" for name, what in {**FAMILIES, **ENCODERS}.items())
        raise ValueError(f"model_type {family!r}{also} is not supported; supported are {opens}")
    if "quantization_config" in hf:
        raise ValueError(
            "the weights are quantized (quantization_config); use the model before quantization"
        )
    return _READERS[str(family)](Settings(hf))


def _gpt2(hf: Settings) -> DecoderConfig:
    hf.require("scale_attn_weights", True, default=True)
    hf.require("scale_attn_by_inverse_layer_idx", False, default=False)
    hf.require("add_cross_attention", False, default=False)
    width = hf.count("n_embd", 768)
    return DecoderConfig(
        vocab_size=hf.count("vocab_size", 50257),
        width=width,
        layers=hf.count("n_layer", 12),
        heads=hf.count("n_head", 12),
        hidden=hf.count_or_none("n_inner") or 4 * width,
        context=hf.count("n_positions", 1024),
        norm_eps=hf.number("layer_norm_epsilon", 1e-5),
        activation=hf.text("activation_function", "gelu_new"),
        tied=hf.flag("tie_word_embeddings", True),
        init_std=hf.number("initializer_range", 0.02),
    )


def _gpt_neox(hf: Settings) -> DecoderConfig:
    width, heads = hf.count("hidden_size", 6144), hf.count("num_attention_heads", 64)
    bias = hf.flag("attention_bias", True)
    return DecoderConfig(
        vocab_size=hf.count("vocab_size", 50432),
        width=width,
        layers=hf.count("num_hidden_layers", 44),
        heads=heads,
        hidden=hf.count("intermediate_size", 24576),
        context=hf.count("max_position_embeddings", 2048),
        norm_eps=hf.number("layer_norm_eps", 1e-5),
        norms="parallel" if hf.flag("use_parallel_residual", True) else "pre",
        activation=hf.text("hidden_act", "gelu"),
        rotary=rotary_of(hf, head_dim=width // heads, share=NEOX_SHARE),
        attention_bias=bias,
        out_bias=bias,
        tied=hf.flag("tie_word_embeddings", False),
        init_std=hf.number("initializer_range", 0.02),
    )


def _llama(hf: Settings) -> DecoderConfig:
    bias = hf.flag("attention_bias", False)
    mlp_bias = hf.flag("mlp_bias", False)
    return _llama_like(hf, _LLAMA_SIZES, qkv_bias=bias, out_bias=bias, mlp_bias=mlp_bias)


def _mistral(hf: Settings) -> DecoderConfig:
    context = hf.count("max_position_embeddings", _MISTRAL_SIZES["max_position_embeddings"])
    # Written by older versions without the key, it means 4,096.
    window = hf.count_or_none("sliding_window", 4096)
    found = _llama_like(hf, _MISTRAL_SIZES, qkv_bias=False, out_bias=False, mlp_bias=False)
    return replace(found, window=window if window is not None and window < context else None)


def _qwen2(hf: Settings) -> DecoderConfig:
    hf.require("use_sliding_window", False, default=False)
    return _llama_like(hf, _QWEN2_SIZES, qkv_bias=True, out_bias=False, mlp_bias=False)


def _qwen3(hf: Settings) -> DecoderConfig:
    hf.require("use_sliding_window", False, default=False)
    bias, hf = hf.flag("attention_bias", False), _filled(hf, head_dim=128)
    found = _llama_like(hf, _QWEN2_SIZES, qkv_bias=bias, out_bias=bias, mlp_bias=False)
    return replace(found, qk_norm="head")


def _qwen3_moe(hf: Settings) -> DecoderConfig:
    if hf.count("decoder_sparse_step", 1) != 1 or hf.get("mlp_only_layers"):
        raise ValueError(
            "config.json: all layers must have experts: decoder_sparse_step 1 and mlp_only_layers "
            f"[], got {hf.get('decoder_sparse_step')} and {hf.get('mlp_only_layers')}"
        )
    hf = _filled(hf, hidden_size=2048, num_hidden_layers=24, num_key_value_heads=4, head_dim=None)
    hf = _filled(hf, num_experts=128, num_experts_per_tok=8, router_aux_loss_coef=0.001)
    hidden = hf.count("moe_intermediate_size", 768)
    return replace(_qwen3(hf), hidden=hidden, experts=_routing(hf))


def _mixtral(hf: Settings) -> DecoderConfig:
    hf = _filled(hf, rope_theta=1e6, rms_norm_eps=1e-5, sliding_window=None, norm_topk_prob=True)
    hf = _filled(hf, num_local_experts=8, num_experts_per_tok=2, router_aux_loss_coef=0.001)
    return replace(_mistral(hf), experts=_routing(hf))


def _olmo2(hf: Settings) -> DecoderConfig:
    hf = _filled(hf, vocab_size=50304, rms_norm_eps=1e-5)
    return replace(_llama(hf), qk_norm="all", norms="after")


def _olmoe(hf: Settings) -> DecoderConfig:
    if hf.get("clip_qkv") is not None:
        raise ValueError(f"config.json: clip_qkv must be null, got {hf.get('clip_qkv')}")
    hf = _filled(hf, vocab_size=50304, hidden_size=2048, num_hidden_layers=16, rms_norm_eps=1e-5)
    hf = _filled(hf, num_attention_heads=16, intermediate_size=2048, max_position_embeddings=4096)
    hf = _filled(hf, num_experts=64, num_experts_per_tok=8, router_aux_loss_coef=0.01)
    return replace(_llama(hf), qk_norm="all", experts=_routing(hf))


def _filled(hf: Settings, **defaults: Any) -> Settings:
    return Settings({**defaults, **hf.values})


def _routing(hf: Settings) -> Routing:
    """No tokens are dropped, and there is no z loss: files have no such settings."""
    # Newer versions write either name.
    key = "num_local_experts" if "num_local_experts" in hf.values else "num_experts"
    return Routing(
        count=hf.count(key, 1),
        top_k=hf.count("num_experts_per_tok", 1),
        normalise=hf.flag("norm_topk_prob", False),
        balance=float(hf.get("router_aux_loss_coef", 0.0)),
        z=0.0,
    )


# Defaults of the configuration classes, which files omit.
_LLAMA_SIZES = {
    "vocab_size": 32000,
    "intermediate_size": 11008,
    "max_position_embeddings": 2048,
}
_MISTRAL_SIZES = {
    "vocab_size": 32000,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "num_key_value_heads": 8,
}
_QWEN2_SIZES = {
    "vocab_size": 151936,
    "intermediate_size": 22016,
    "max_position_embeddings": 32768,
    "num_key_value_heads": 32,
}


def _llama_like(
    hf: Settings, sizes: Mapping[str, int], *, qkv_bias: bool, out_bias: bool, mlp_bias: bool
) -> DecoderConfig:
    width, heads = hf.count("hidden_size", 4096), hf.count("num_attention_heads", 32)
    head_dim = hf.count_or_none("head_dim")
    kv_heads = hf.count_or_none("num_key_value_heads", sizes.get("num_key_value_heads"))
    return DecoderConfig(
        vocab_size=hf.count("vocab_size", sizes["vocab_size"]),
        width=width,
        layers=hf.count("num_hidden_layers", 32),
        heads=heads,
        kv_heads=kv_heads or heads,
        head_dim=None if head_dim == width // heads and width % heads == 0 else head_dim,
        hidden=hf.count("intermediate_size", sizes["intermediate_size"]),
        context=hf.count("max_position_embeddings", sizes["max_position_embeddings"]),
        norm="rms",
        norm_eps=hf.number("rms_norm_eps", 1e-6),
        activation=hf.text("hidden_act", "silu"),
        gated=True,
        rotary=rotary_of(hf, head_dim=head_dim or width // heads, share=1.0),
        attention_bias=qkv_bias,
        out_bias=out_bias,
        mlp_bias=mlp_bias,
        tied=hf.flag("tie_word_embeddings", False),
        init_std=hf.number("initializer_range", 0.02),
    )


_READERS: Mapping[str, Callable[[Settings], DecoderConfig]] = {
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "llama": _llama,
    "mistral": _mistral,
    "mixtral": _mixtral,
    "olmo2": _olmo2,
    "olmoe": _olmoe,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "qwen3_moe": _qwen3_moe,
}
