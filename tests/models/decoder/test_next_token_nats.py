from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.models import Decoder, DecoderConfig
from barrow.models.decoder.next_token_nats import (
    layers_apart,
    next_token_nats,
    next_token_nats_on_cpu,
)


@pytest.mark.parametrize("tied", [True, False])
def test_nats_of_each_next_token(tied: bool) -> None:
    """Against a float64 softmax of the logits; either way of making nats; layers apart."""
    config = DecoderConfig(
        vocab_size=37, width=16, layers=2, heads=2, hidden=16, context=12, tied=tied, init_std=0.4
    )
    model = Decoder(config)
    params: Any = jax.jit(model.init)(jax.random.key(1), jnp.zeros((1, 1), jnp.int32))
    ids = np.random.default_rng(0).integers(0, 37, (3, 13)).astype(np.int32)
    logits = np.asarray(jax.jit(model.apply)(params, ids[:, :-1])[0], np.float64)
    expected = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(
        logits, ids[:, 1:, None].astype(np.int64), -1
    ).squeeze(-1)
    assert np.ptp(expected) > 1
    apart, own = layers_apart(model, params)
    for make, made, given in (
        (next_token_nats, model, params),
        (next_token_nats_on_cpu, model, params),
        (next_token_nats, apart, own),
    ):
        nats = jax.jit(make, static_argnums=0)(made, given, jnp.asarray(ids))
        np.testing.assert_allclose(nats, expected, atol=1e-5)
    assert layers_apart(apart, own)[1] is own
