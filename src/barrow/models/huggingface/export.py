"""A `DecoderConfig` to the config.json under which `transformers` computes the same function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from barrow.models.decoder.model import DecoderConfig
from barrow.models.huggingface.rope import NEOX_SHARE, hf_rope


def family_of(config: DecoderConfig) -> str:
    """The model_type under which `transformers` computes the same function."""
    found = [family for family, fits in _FITS.items() if not fits(config)]
    if found:
        return found[0]
    reasons = "; ".join(f"{family}: {', '.join(fits(config))}" for family, fits in _FITS.items())
    raise ValueError(f"transformers has no decoder of this shape. What does not fit {reasons}")


def _against(**rules: tuple[bool, str]) -> list[str]:
    return [reason for holds, reason in rules.values() if not holds]


def _against_gpt2(config: DecoderConfig) -> list[str]:
    return _against(
        rotary=(config.rotary is None, "rotary positions"),
        norm=(config.norm == "layer", "RMS norms"),
        norms=(config.norms == "pre", "norms that are not before attention and MLP"),
        gated=(not config.gated, "a gated MLP"),
        newer=(config.experts is None and config.qk_norm is None, "experts or norms of queries"),
        window=(config.window is None and config.sparse is None, "a sliding window or blocks"),
        bias=(
            config.attention_bias and config.out_bias and config.mlp_bias,
            "projections without bias",
        ),
        heads=(config.num_kv_heads == config.heads, "grouped key heads"),
        head_dim=(
            config.size_of_head * config.heads == config.width,
            "heads that do not fill the width",
        ),
    )


def _against_gpt_neox(config: DecoderConfig) -> list[str]:
    return _against(
        rotary=(config.rotary is not None, "learned positions"),
        norm=(config.norm == "layer", "RMS norms"),
        norms=(config.norms != "after", "norms after attention and MLP"),
        gated=(not config.gated, "a gated MLP"),
        newer=(config.experts is None and config.qk_norm is None, "experts or norms of queries"),
        window=(config.window is None and config.sparse is None, "a sliding window or blocks"),
        bias=(config.attention_bias == config.out_bias, "bias on some projections of attention"),
        mlp=(config.mlp_bias, "an MLP without bias"),
        heads=(config.num_kv_heads == config.heads, "grouped key heads"),
        head_dim=(
            config.size_of_head * config.heads == config.width,
            "heads that do not fill the width",
        ),
    )


def _against_llama_like(
    config: DecoderConfig,
    *,
    qk_norm: str | None = None,
    experts: bool = False,
    norms: str = "pre",
) -> list[str]:
    whole = config.rotary is not None and config.rotary.dim in (None, config.size_of_head)
    return _against(
        rotary=(whole, "partial rotary positions"),
        norm=(config.norm == "rms", "layer norms"),
        norms=(config.norms == norms, f"norms={config.norms}"),
        gated=(config.gated, "an MLP without gate"),
        sparse=(config.sparse is None, "sparse attention"),
        qk_norm=(config.qk_norm == qk_norm, f"qk_norm={config.qk_norm}"),
        experts=((config.experts is not None) == experts, f"experts={config.experts}"),
    )


def _against_llama(config: DecoderConfig) -> list[str]:
    bias = config.attention_bias == config.out_bias
    return _against_llama_like(config) + _against(
        bias=(bias, "bias on some projections of attention"),
        window=(config.window is None, "a sliding window"),
    )


def _against_mistral(config: DecoderConfig) -> list[str]:
    biased = config.attention_bias or config.out_bias or config.mlp_bias
    return _against_llama_like(config) + _against(
        window=(config.window is not None, "no sliding window"), bias=(not biased, "bias")
    )


def _against_qwen2(config: DecoderConfig) -> list[str]:
    return _against_llama_like(config) + _against(
        window=(config.window is None, "a sliding window"),
        bias=(config.attention_bias and not config.out_bias, "bias other than on q, k, v"),
        mlp=(not config.mlp_bias, "bias in the MLP"),
        head_dim=(
            config.size_of_head * config.heads == config.width,
            "heads that do not fill the width",
        ),
    )


def _against_mixtral(config: DecoderConfig) -> list[str]:
    normal = config.experts is None or config.experts.normalise
    return _against_llama_like(config, experts=True) + _against(
        bias=(not (config.attention_bias or config.out_bias), "bias"),
        weights=(normal, "weights of experts that are not normalised"),
    )


def _against_newer(
    config: DecoderConfig, *, qk_norm: str, experts: bool, norms: str = "pre"
) -> list[str]:
    """OLMo and Qwen 3."""
    fills = config.size_of_head * config.heads == config.width
    bias = config.attention_bias == config.out_bias
    like = _against_llama_like(config, qk_norm=qk_norm, experts=experts, norms=norms)
    return like + _against(
        window=(config.window is None, "a sliding window"),
        bias=(bias, "bias on some projections of attention"),
        mlp=(not config.mlp_bias, "bias in the MLP"),
        head_dim=(fills or qk_norm == "head", "heads that do not fill the width"),
    )


_FITS: Mapping[str, Callable[[DecoderConfig], list[str]]] = {
    "gpt2": _against_gpt2,
    "gpt_neox": _against_gpt_neox,
    "llama": _against_llama,
    "mistral": _against_mistral,
    "qwen2": _against_qwen2,
    "qwen3": partial(_against_newer, qk_norm="head", experts=False),
    "mixtral": _against_mixtral,
    "olmo2": partial(_against_newer, qk_norm="all", experts=False, norms="after"),
    "olmoe": partial(_against_newer, qk_norm="all", experts=True),
    "qwen3_moe": partial(_against_newer, qk_norm="head", experts=True),
}
_ARCHITECTURES = {
    "gpt2": "GPT2LMHeadModel",
    "gpt_neox": "GPTNeoXForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "olmo2": "Olmo2ForCausalLM",
    "olmoe": "OlmoeForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}


def hf_config(config: DecoderConfig) -> dict[str, Any]:
    """A config.json that `transformers` opens, for the family that `family_of` names."""
    family = family_of(config)
    head = {"architectures": [_ARCHITECTURES[family]], "model_type": family}
    shared = {
        "vocab_size": config.vocab_size,
        "tie_word_embeddings": config.tied,
        "initializer_range": config.init_std,
    }
    if family == "gpt2":
        drop = dict.fromkeys(("resid_pdrop", "embd_pdrop"), config.dropout) | {"attn_pdrop": 0.0}
        return {
            **head,
            **shared,
            **drop,
            "n_embd": config.width,
            "n_layer": config.layers,
            "n_head": config.heads,
            "n_inner": config.hidden,
            "n_positions": config.context,
            "layer_norm_epsilon": config.norm_eps,
            "activation_function": config.activation,
        }
    assert config.rotary is not None
    common = {
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.hidden,
        "max_position_embeddings": config.context,
        "hidden_act": config.activation,
        **hf_rope(
            config.rotary,
            head_dim=config.size_of_head,
            share=NEOX_SHARE if family == "gpt_neox" else 1.0,
        ),
    }
    if family == "gpt_neox":
        return {
            **head,
            **shared,
            **common,
            "layer_norm_eps": config.norm_eps,
            "use_parallel_residual": config.norms == "parallel",
            "attention_bias": config.attention_bias,
            "hidden_dropout": config.dropout,
            "attention_dropout": 0.0,
        }
    grouped = {"num_key_value_heads": config.num_kv_heads, "rms_norm_eps": config.norm_eps}
    if family == "qwen2":
        return {**head, **shared, **common, **grouped, "use_sliding_window": False}
    if family == "mistral":
        window = {"sliding_window": config.window, "head_dim": config.size_of_head}
        return {**head, **shared, **common, **grouped, **window}
    grouped |= {"head_dim": config.size_of_head, "attention_bias": config.attention_bias}
    if config.experts is None:
        return {**head, **shared, **common, **grouped, "mlp_bias": config.mlp_bias}
    routing = config.experts
    experts = {
        "num_local_experts" if family == "mixtral" else "num_experts": routing.count,
        "num_experts_per_tok": routing.top_k,
        "norm_topk_prob": routing.normalise,
        "router_aux_loss_coef": routing.balance,
        "moe_intermediate_size": config.hidden,
        "sliding_window": config.window,
    }
    return {**head, **shared, **common, **grouped, **experts}
