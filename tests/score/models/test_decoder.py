from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from barrow.models import Decoder, DecoderConfig
from barrow.nn.layers.experts import Routing
from barrow.score.models.decoder import DecoderTokenModel, default_batch_tokens
from barrow.tokens import ByteTokenizer

ROWS = [
    np.random.default_rng(n).integers(0, 259, length).astype(np.int32)
    for n, length in enumerate([33, 2, 17, 1, 9, 33, 25, 5, 12, 30])
]


def test_log_probs_as_the_reference_has_them(
    token_model: DecoderTokenModel, reference: Any
) -> None:
    found = token_model.log_probs(ROWS)
    for row, logs in zip(ROWS, found, strict=True):
        assert logs.shape == (len(row) - 1,)
        if len(row) > 1:
            np.testing.assert_allclose(logs, reference(row.tolist()), atol=2e-6, rtol=1e-6)


def test_eight_devices_and_any_batch_give_what_one_gives(
    decoder: tuple[Decoder, Any], token_model: DecoderTokenModel
) -> None:
    """PILE-2: invariant to batch size and device count; order too."""
    expected = token_model.log_probs(ROWS)
    assert len(jax.devices()) == 8
    for model, order in (
        (DecoderTokenModel(*decoder, ByteTokenizer(), batch_tokens=256), range(len(ROWS))),
        (
            DecoderTokenModel(*decoder, ByteTokenizer(), batch_tokens=1, devices=jax.devices()[:1]),
            list(reversed(range(len(ROWS)))),
        ),
    ):
        found = model.log_probs([ROWS[i] for i in order])
        for i, logs in zip(order, found, strict=True):
            np.testing.assert_allclose(logs, expected[i], atol=1e-6, rtol=1e-6)


def test_other_parameters_of_a_model_are_not_compiled_again(decoder: tuple[Decoder, Any]) -> None:
    model, params = decoder
    scorers = [
        DecoderTokenModel(model, p, ByteTokenizer())
        for p in (params, jax.tree.map(lambda x: 1.5 * x, params))
    ]
    first = scorers[0].log_probs(ROWS)
    known = scorers[1]._nats._cache_size()
    second = scorers[1].log_probs(ROWS)
    assert scorers[1]._nats._cache_size() == known > 0
    assert not np.allclose(first[0], second[0])


def test_a_model_without_a_hash_is_scored_too(decoder: tuple[Decoder, Any]) -> None:
    class Unhashable(Decoder):
        __hash__ = None  # type: ignore[assignment]

    model, params = decoder
    found = DecoderTokenModel(Unhashable(model.config), params, ByteTokenizer()).log_probs(ROWS)
    expected = DecoderTokenModel(model, params, ByteTokenizer()).log_probs(ROWS)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6, rtol=1e-6)


def test_a_tokenizer_with_more_ids_than_the_model_is_refused() -> None:
    model = Decoder(DecoderConfig(vocab_size=258, width=8, layers=1, heads=1, hidden=8, context=8))
    with pytest.raises(ValueError, match="ids up to 258, but the model's vocabulary is 258"):
        DecoderTokenModel(model, {}, ByteTokenizer())


def test_a_gpu_is_given_more_at_once() -> None:
    assert default_batch_tokens(on_cpu=True) < default_batch_tokens(on_cpu=False)


def test_experts_on_eight_devices_and_one() -> None:
    """A row's experts do not depend on its neighbours, its padding, or where it is computed."""
    config = DecoderConfig(
        vocab_size=259,
        width=16,
        layers=1,
        heads=2,
        hidden=8,
        context=64,
        mlp_bias=False,
        init_std=0.3,
        experts=Routing(4, 2, capacity=0.5),
    )
    model = config.module()
    params = jax.jit(lambda: model.init(jax.random.key(0), *config.example))()
    rows = ROWS[:4]
    found = DecoderTokenModel(model, params, ByteTokenizer()).log_probs(rows)
    one = jax.devices()[:1]
    alone = DecoderTokenModel(model, params, ByteTokenizer(), batch_tokens=1, devices=one)
    for row, logs in zip(rows, found, strict=True):
        np.testing.assert_allclose(logs, alone.log_probs([row])[0], atol=1e-5)
