from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.goldens import golden, settings_of

from barrow.recipes import llama


@golden("transformers")
def tinyllama() -> Any:
    """Its published config.json with the defaults of transformers."""
    from transformers import LlamaConfig

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        rms_norm_eps=1e-5,
    )
    return settings_of(config)


def test_the_shape_is_tinyllamas() -> None:
    model, theirs = llama.one_b().model, SimpleNamespace(**tinyllama())
    assert (model.width, model.hidden, model.layers) == (
        theirs.hidden_size,
        theirs.intermediate_size,
        theirs.num_hidden_layers,
    )
    assert (model.heads, model.num_kv_heads) == (
        theirs.num_attention_heads,
        theirs.num_key_value_heads,
    )
    assert (model.size_of_head, model.context) == (theirs.head_dim, 2048)
    assert (model.norm, model.norm_eps, model.tied, model.gated) == ("rms", 1e-5, False, True)
    assert (model.attention_bias, model.out_bias, model.mlp_bias) == (False, False, False)
    assert model.rotary is not None
    assert model.rotary.base == 10_000.0
    assert model.activation == theirs.hidden_act
