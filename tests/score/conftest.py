"""A tiny decoder of bytes, a slow reference for it, and documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import Document
from barrow.models import Decoder, DecoderConfig
from barrow.score import ModelInfo, Protocol, WindowedModel
from barrow.score.models.decoder import DecoderTokenModel
from barrow.tokens import ByteTokenizer

CONTEXT = 32
CONFIG = DecoderConfig(vocab_size=259, width=16, layers=2, heads=2, hidden=32, context=CONTEXT)
INFO = ModelInfo("tiny", "barrow", "0" * 64)
BEGIN = 256


@pytest.fixture(scope="session")
def decoder() -> tuple[Decoder, Any]:
    """Random parameters, large enough that probabilities are far from uniform."""
    model = Decoder(CONFIG)
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    rng = np.random.default_rng(0)
    draw = lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), jnp.float32)  # noqa: E731
    return model, jax.tree.map(draw, shapes)


@pytest.fixture(scope="session")
def token_model(decoder: tuple[Decoder, Any]) -> DecoderTokenModel:
    return DecoderTokenModel(*decoder, ByteTokenizer(), batch_tokens=256, devices=jax.devices()[:1])


@pytest.fixture(scope="session")
def windowed(token_model: DecoderTokenModel) -> Callable[[Protocol], WindowedModel]:
    return lambda protocol: WindowedModel(token_model, protocol, INFO)


@pytest.fixture(scope="session")
def few() -> list[Document]:
    """Documents of three domains: empty, one byte, shorter and longer than a window, NULs."""
    texts = [
        "",
        "a",
        "né",
        "\x00\x00nul",
        "x" * CONTEXT,
        "日本語 Привет 🙂 " * 6,
        "the barrow " * 9,
    ]
    texts += [f"{n} stones and {n * n} mounds, " * n for n in range(1, 7)]
    domains = ["A", "B", "Ünïcode"]
    return [
        Document(text, {"pile_set_name": domains[i % 3], "id": f"id-{i}"})
        for i, text in enumerate(texts)
    ]


@pytest.fixture(scope="session")
def reference(decoder: tuple[Decoder, Any]) -> Callable[[Sequence[int]], np.ndarray]:
    """Logarithms of a row's ids but the first: the logits of apply, a float64 softmax in NumPy."""
    model, params = decoder
    apply = jax.jit(lambda ids: model.apply(params, ids)[0])

    def log_probs(row: Sequence[int]) -> np.ndarray:
        padded = np.zeros((1, CONTEXT), np.int32)
        padded[0, : len(row) - 1] = row[:-1]
        logits = np.asarray(apply(padded), np.float64)[0, : len(row) - 1]
        peak = logits.max(axis=-1, keepdims=True)
        logs = logits - peak - np.log(np.exp(logits - peak).sum(axis=-1, keepdims=True))
        return logs[np.arange(len(row) - 1), np.array(row[1:], np.int64)]

    return log_probs
