from __future__ import annotations

from typing import Any

import pytest
from tests.goldens import golden, settings_of

from barrow.models import DecoderConfig
from barrow.models.huggingface.config import FAMILIES, config_of
from barrow.nn.attention.rotary import Rotary


@golden("transformers")
def full_config(kind: str) -> Any:
    import transformers

    return settings_of(getattr(transformers, kind)())


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("GPT2Config", "gpt2"),
        ("GPTNeoXConfig", "gpt_neox"),
        ("LlamaConfig", "llama"),
        ("Qwen2Config", "qwen2"),
        ("Qwen3Config", "qwen3"),
        ("MixtralConfig", "mixtral"),
        ("Olmo2Config", "olmo2"),
        ("OlmoeConfig", "olmoe"),
        ("Qwen3MoeConfig", "qwen3_moe"),
    ],
)
def test_an_empty_config_has_the_defaults_of_transformers(kind: str, family: str) -> None:
    full = full_config(kind)
    assert config_of({"model_type": family}) == config_of(full)


def test_gpt2_is_our_default() -> None:
    assert config_of({"model_type": "gpt2"}) == DecoderConfig()


def test_old_and_new_ways_to_write_rotary_positions() -> None:
    old = {
        "model_type": "llama",
        "rope_theta": 5e5,
        "rope_scaling": {"type": "linear", "factor": 2},
    }
    new = {
        "model_type": "llama",
        "rope_parameters": {"rope_theta": 5e5, "rope_type": "linear", "factor": 2.0},
    }
    assert config_of(old) == config_of(new)
    pythia = {"model_type": "gpt_neox", "rotary_pct": 0.5, "rotary_emb_base": 99.0}
    assert config_of(pythia).rotary == Rotary(99.0, 48)


def test_an_unknown_architecture_lists_what_opens() -> None:
    with pytest.raises(ValueError, match="model_type 'bert'.*BertModel.*is not supported") as e:
        config_of({"model_type": "bert", "architectures": ["BertModel"]})
    assert all(name in str(e.value) for name in FAMILIES)
    with pytest.raises(ValueError, match="model_type None"):
        config_of({})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model_type": "gpt2", "scale_attn_weights": False},
            "scale_attn_weights must be True, got False",
        ),
        (
            {"model_type": "gpt2", "scale_attn_by_inverse_layer_idx": True},
            "must be False, got True",
        ),
        ({"model_type": "gpt2", "add_cross_attention": True}, "add_cross_attention must be False"),
        ({"model_type": "qwen2", "use_sliding_window": True}, "use_sliding_window must be False"),
        ({"model_type": "llama", "quantization_config": {}}, "the weights are quantized"),
        (
            {"model_type": "llama", "rope_scaling": {"rope_type": "yarn", "factor": 2.0}},
            "rope_type 'yarn' must be default, linear or llama3",
        ),
        ({"model_type": "llama", "hidden_size": "many"}, "hidden_size must be an integer"),
        (
            {"model_type": "llama", "rms_norm_eps": -1},
            "rms_norm_eps must be a positive number, got -1",
        ),
        ({"model_type": "llama", "hidden_act": 3}, "hidden_act must be a string, got 3"),
        (
            {"model_type": "llama", "attention_bias": 1},
            "attention_bias must be true or false, got 1",
        ),
        ({"model_type": "llama", "rope_scaling": 2}, "rope_scaling must be an object, got 2"),
        (
            {"model_type": "qwen3_moe", "mlp_only_layers": [0]},
            r"all layers must have experts: .* got None and \[0\]",
        ),
        ({"model_type": "qwen3_moe", "decoder_sparse_step": 2}, "all layers must have experts"),
        ({"model_type": "olmoe", "clip_qkv": 8.0}, "clip_qkv must be null, got 8.0"),
        (
            {"model_type": "mixtral", "num_experts_per_tok": 9},
            "top_k must be from 1 to the 8 experts, got 9",
        ),
        ({"model_type": "gpt2", "n_head": 5}, "5 heads do not divide a width of 768"),
    ],
)
def test_what_cannot_be_expressed_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config_of(config)


def test_a_window_as_long_as_the_context_is_none() -> None:
    config = {"model_type": "mistral", "max_position_embeddings": 4096}
    assert config_of(config) == config_of({**config, "sliding_window": None})
    assert config_of({"model_type": "mistral"}).window == 4096
