from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models import Decoder, DecoderConfig, save


def test_a_decoder_is_refused(barrow: Callable, tmp_path: Path) -> None:
    model = Decoder(DecoderConfig(259, 16, 1, 2, hidden=16, context=16))
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    params = jax.tree.map(lambda s: np.zeros(s.shape, s.dtype), shapes)
    save(tmp_path / "model", model, params, tokenizer="bytes")
    code, _, err = barrow("model", "fill", "a<|mask|>", "--model", tmp_path / "model")
    assert code == 1
    assert "is a Decoder, expected a Roberta" in err
