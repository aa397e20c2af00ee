"""Decoding with few kernels gives what the decoder gives."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.models.decoder import one_token as module
from barrow.models.decoder.generate import for_decoding, generate
from barrow.models.decoder.model import Decoder, DecoderConfig, empty_caches
from barrow.nn.attention.rotary import Rotary
from barrow.nn.weights.kernels import with_int8

SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "width": 128,
    "layers": 2,
    "heads": 2,
    "hidden": 256,
    "context": 64,
}
LLAMA: dict[str, Any] = {
    "norm": "rms",
    "activation": "silu",
    "gated": True,
    "rotary": Rotary(),
    "attention_bias": False,
    "out_bias": False,
    "mlp_bias": False,
    "tied": False,
}
CONFIGS = {
    "gpt2": DecoderConfig(**SIZES),
    "llama": DecoderConfig(**SIZES, **LLAMA, kv_heads=1),
}


def drawn(config: DecoderConfig) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(Decoder(config).init, jax.random.key(0), *config.example)
    rng = np.random.default_rng(0)

    def draw(path: Any, x: Any) -> jax.Array:
        # Scales of norms are around one.
        mean = 1.0 if path[-1].key == "scale" else 0.0
        return jnp.asarray((mean + 0.1 * rng.standard_normal(x.shape)).astype(x.dtype))

    return jax.tree_util.tree_map_with_path(draw, shapes)


@pytest.fixture
def with_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there are kernels; plain JAX takes their place."""
    monkeypatch.setattr(module, "has_kernel", lambda *_: True)
    monkeypatch.setattr(module, "_has_room", lambda _: True)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("is_quantized", [False, True])
def test_logits_and_caches_are_those_of_the_decoder(
    name: str, is_quantized: bool, with_kernels: None
) -> None:
    config = CONFIGS[name]
    model, params = Decoder(config, unroll=True), for_decoding(drawn(config))
    params = with_int8(params) if is_quantized else params
    held = module.for_one_token(model, params, 2)
    assert module.takes(held)
    assert not module.takes(params)
    theirs = ours = empty_caches(config, 2, 16, jnp.float32)
    apply, one_token = jax.jit(model.apply), jax.jit(partial(module.one_token, model))
    for tokens, real in (([5, 9], [1, 1]), ([1, 3], [1, 0]), ([7, 2], [1, 1])):
        given, num = jnp.asarray(tokens, jnp.int32), jnp.asarray(real, jnp.int32)
        wanted, theirs = apply(params, given[:, None], lengths=num, caches=theirs)
        got, ours = one_token(held, given, num, ours)
        scale = float(np.abs(wanted).max())
        np.testing.assert_allclose(got[0], wanted[0, 0], atol=1e-5 * scale)
        if real[1]:
            np.testing.assert_allclose(got[1], wanted[1, 0], atol=1e-5 * scale)
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine.lengths, other.lengths)
            seen = (np.arange(16) < np.asarray(mine.lengths)[:, None])[:, None, :, None]
            for a, b in ((mine.keys, other.keys), (mine.values, other.values)):
                np.testing.assert_allclose(np.asarray(a) * seen, np.asarray(b) * seen, atol=1e-4)


@pytest.mark.parametrize("name", CONFIGS)
def test_generation_gives_the_same_tokens(
    name: str, with_kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CONFIGS[name]
    model, params, prompts = Decoder(config), drawn(config), [[1, 2, 3], [5]]
    used: list[Any] = []
    run = module.one_token
    monkeypatch.setattr(
        "barrow.models.decoder.decoding.one_token", lambda *a: (used.append(1), run(*a))[1]
    )
    got = generate(model, params, prompts, max_tokens=20)
    assert used
    monkeypatch.setattr(module, "has_kernel", lambda *_: False)
    wanted = generate(model, params, prompts, max_tokens=20)
    for ours, theirs in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(ours.tokens, theirs.tokens)


@pytest.mark.parametrize(
    "change",
    [
        {"norms": "parallel"},
        {"qk_norm": "head"},
        {"window": 8},
        {"rotary": Rotary(dim=16)},
    ],
)
def test_other_architectures_stay_as_they_are(change: Any, with_kernels: None) -> None:
    config = replace(CONFIGS["llama"], **change)
    params = for_decoding(drawn(config))
    assert module.for_one_token(Decoder(config), params, 1) is params


def test_without_room_for_a_copy_they_stay(
    with_kernels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, params = Decoder(CONFIGS["gpt2"]), for_decoding(drawn(CONFIGS["gpt2"]))
    monkeypatch.setattr(module, "_has_room", lambda _: False)
    assert module.for_one_token(model, params, 1) is params
