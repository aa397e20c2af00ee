from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models import Decoder, DecoderConfig, generate
from barrow.models.decoder.generate import for_decoding
from barrow.nn.attention.rotary import Rotary
from barrow.serve.engine import Engine, EngineSettings
from barrow.serve.requests import Choice, Request


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


@cache
def model() -> tuple[Decoder, Any]:
    config = DecoderConfig(
        vocab_size=259,
        width=32,
        layers=2,
        heads=4,
        kv_heads=2,
        hidden=48,
        context=512,
        rotary=Rotary(),
        init_std=0.4,
    )
    made = Decoder(config)
    return made, for_decoding(drawn(made, jnp.zeros((1, 1), jnp.int32)))


def prompts(num: int) -> list[list[int]]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 259, rng.integers(1, 200)).tolist() for _ in range(num)]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(*model(), settings=EngineSettings(slots=4, max_tokens_in_flight=64 * 24))


def test_greedy_as_generate(engine: Engine) -> None:
    answers = [engine.submit(Request(prompt, 40)) for prompt in prompts(6)]
    while not engine.is_idle:
        engine.step()
    for prompt, answer in zip(prompts(6), answers, strict=True):
        (expected,) = generate(*model(), [prompt], max_tokens=40)
        assert answer.tokens == expected.tokens.tolist()
        assert answer.reason == "length"
