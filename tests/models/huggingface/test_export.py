from __future__ import annotations

from dataclasses import replace

import pytest

from barrow.models import DecoderConfig
from barrow.models.huggingface.config import config_of
from barrow.models.huggingface.export import family_of, hf_config
from barrow.nn.attention.rotary import Rotary
from barrow.nn.layers.experts import Routing

LLAMA = config_of({"model_type": "llama", "num_key_value_heads": 8, "vocab_size": 99})


@pytest.mark.parametrize(
    "config",
    [
        DecoderConfig(),
        DecoderConfig(tied=False, hidden=99, norm_eps=1e-3, activation="relu", init_std=0.1),
        config_of({"model_type": "gpt_neox"}),
        config_of({"model_type": "gpt_neox", "use_parallel_residual": False}),
        LLAMA,
        replace(LLAMA, head_dim=64, attention_bias=True, out_bias=True),
        config_of({"model_type": "qwen2"}),
        config_of({"model_type": "qwen3"}),
        config_of({"model_type": "mixtral", "sliding_window": 512}),
        config_of({"model_type": "olmo2"}),
        config_of({"model_type": "olmoe", "norm_topk_prob": True}),
        config_of({"model_type": "qwen3_moe", "num_experts": 16, "router_aux_loss_coef": 0.5}),
    ],
)
def test_written_and_read_again(config: DecoderConfig) -> None:
    again = config_of(hf_config(config))
    assert replace(again, kv_heads=again.num_kv_heads) == replace(
        config, kv_heads=config.num_kv_heads
    )


def test_mistral_is_a_llama() -> None:
    mistral = config_of({"model_type": "mistral", "sliding_window": None})
    assert family_of(mistral) == "llama"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (DecoderConfig(norm="rms"), "gpt2: RMS norms"),
        (DecoderConfig(kv_heads=4), "gpt2: grouped key heads"),
        (DecoderConfig(gated=True), "gpt2: a gated MLP"),
        (DecoderConfig(mlp_bias=False), "gpt2: projections without bias"),
        (DecoderConfig(norms="parallel"), "gpt2: norms that are not before"),
        (DecoderConfig(rotary=Rotary(), mlp_bias=False), "gpt_neox: an MLP without bias"),
        (DecoderConfig(head_dim=8, rotary=Rotary()), "heads that do not fill the width"),
        (replace(LLAMA, rotary=Rotary(dim=8)), "partial rotary positions"),
        (replace(LLAMA, norms="parallel"), "llama: norms=parallel"),
        (replace(LLAMA, out_bias=True), "qwen2: bias other than on q, k, v"),
        (replace(LLAMA, qk_norm="all"), "llama: qk_norm=all"),
        (
            replace(LLAMA, experts=Routing(normalise=False)),
            "mixtral: weights of experts that are not normalised",
        ),
    ],
)
def test_a_shape_that_transformers_lacks(config: DecoderConfig, reason: str) -> None:
    with pytest.raises(ValueError, match="transformers has no decoder of this shape") as caught:
        hf_config(config)
    assert reason in str(caught.value)
