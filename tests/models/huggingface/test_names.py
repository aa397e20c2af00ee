from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models import Decoder
from barrow.models.huggingface.config import config_of
from barrow.models.huggingface.names import Line, lines_of

GPT2 = {"n_embd": 12, "n_layer": 2, "n_head": 3, "vocab_size": 17, "n_positions": 8}
OTHERS = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 20,
    "vocab_size": 17,
    "max_position_embeddings": 8,
}
CONFIGS: list[dict[str, Any]] = [
    {"model_type": "gpt2", **GPT2},
    {"model_type": "gpt2", **GPT2, "tie_word_embeddings": False},
    {"model_type": "gpt_neox", "rotary_pct": 0.5, **OTHERS},
    {"model_type": "gpt_neox", "rotary_pct": 0.5, **OTHERS, "attention_bias": False},
    {"model_type": "llama", **OTHERS, "num_key_value_heads": 2, "head_dim": 6},
    {"model_type": "llama", **OTHERS, "attention_bias": True, "mlp_bias": True},
    {"model_type": "qwen2", **OTHERS, "num_key_value_heads": 1},
    {"model_type": "qwen3", **OTHERS, "num_key_value_heads": 2},
    {"model_type": "mixtral", **OTHERS, "num_key_value_heads": 2, "num_local_experts": 3},
    {"model_type": "olmo2", **OTHERS, "num_key_value_heads": 2},
    {"model_type": "olmoe", **OTHERS, "num_experts": 9},
    {"model_type": "qwen3_moe", **OTHERS, "num_key_value_heads": 2, "num_experts": 8},
]


@pytest.mark.parametrize("hf", CONFIGS)
def test_every_parameter_has_a_place_and_its_shape(hf: dict[str, Any]) -> None:
    config = config_of(hf)
    lines = lines_of(hf["model_type"], config)
    specs = nn.describe(Decoder(config), jnp.zeros((1, 1), jnp.int32))
    ours = {
        path: (config.layers, *line.our_shape) if line.is_layered else line.our_shape
        for line in lines
        for path in line.paths
    }
    assert ours == {path: spec.shape for path, spec in specs.items()}
    assert len({line.key for line in lines}) == len(lines)


@pytest.mark.parametrize("hf", CONFIGS)
def test_there_and_back_is_the_same(hf: dict[str, Any]) -> None:
    for line in lines_of(hf["model_type"], config_of(hf)):
        theirs = np.arange(np.prod(line.shape)).reshape(line.shape)
        each = line.num_experts or 1
        assert line.num_elements == theirs.size * each
        parts = line.ours(theirs)
        shape = line.our_shape if line.num_experts is None else line.our_shape[1:]
        assert [part.shape for part in parts] == [shape] * len(line.paths)
        assert np.array_equal(line.theirs(parts), theirs)


def of_key(lines: tuple[Line, ...], end: str) -> Line:
    return next(line for line in lines if line.key.endswith(end))


def test_fused_projections_are_parted_as_their_models_do() -> None:
    """GPT-2 splits its columns in three; GPT-NeoX has q, k, v within each head."""
    rng = jax.random.key(0)
    x = np.asarray(jax.random.normal(rng, (5, 12)))
    fused = np.asarray(jax.random.normal(rng, (12, 36)))
    line = of_key(lines_of("gpt2", config_of(CONFIGS[0])), "c_attn.weight")
    for third, kernel in zip(np.split(x @ fused, 3, axis=1), line.ours(fused), strict=True):
        np.testing.assert_allclose(
            np.einsum("ni,ihd->nhd", x, kernel).reshape(5, 12), third, atol=1e-5
        )
    x = np.asarray(jax.random.normal(rng, (5, 16)))
    fused = np.asarray(jax.random.normal(rng, (48, 16)))
    line = of_key(lines_of("gpt_neox", config_of(CONFIGS[2])), "query_key_value.weight")
    by_head = (x @ fused.T).reshape(5, 4, 12)
    for third, kernel in zip(np.split(by_head, 3, axis=-1), line.ours(fused), strict=True):
        np.testing.assert_allclose(np.einsum("ni,ihd->nhd", x, kernel), third, atol=1e-5)
