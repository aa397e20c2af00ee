from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import config, nn
from barrow.models import Decoder, DecoderConfig
from barrow.models.decoder.model import empty_caches
from barrow.nn.attention.rotary import RopeScaling, Rotary
from barrow.nn.layers.remat import EVERYTHING

CONFIG = DecoderConfig(
    vocab_size=30, width=16, layers=2, heads=4, kv_heads=2, hidden=24, context=32, init_std=0.3
)
LLAMA = replace(CONFIG, rotary=Rotary(), norm="rms", gated=True, activation="silu", tied=False)
MIXTRAL = replace(LLAMA, mlp_bias=False, qk_norm="head", experts=nn.Routing(4, 2, capacity=0.5))
TOKENS = jnp.asarray(np.random.default_rng(0).integers(0, 30, (3, 12)))


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


@partial(jax.jit, static_argnames="model")
def run(model: Any, params: Any, tokens: Any, **inputs: Any) -> Any:
    """Logits, compiled: operation by operation they would take seconds."""
    return model.apply(params, tokens, **inputs)[0]


def params_of(config: DecoderConfig) -> Any:
    return drawn(Decoder(config), TOKENS)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(CONFIG, id="gpt2"),
        pytest.param(LLAMA, id="llama"),
        pytest.param(MIXTRAL, id="mixtral", marks=pytest.mark.soak),
    ],
)
def test_how_it_is_run_changes_nothing(config: DecoderConfig) -> None:
    """FLAX-12: scanned, unrolled, apart, recomputed: the same logits and gradients."""
    params = params_of(config)
    plain = Decoder(config)

    def loss(model: Decoder, params: Any) -> jax.Array:
        return jnp.sum(jax.nn.log_softmax(model.apply(params, TOKENS)[0])[..., 3])

    expected, slope = jax.jit(jax.value_and_grad(lambda p: loss(plain, p)))(params)
    for model in (Decoder(config, unroll=True), Decoder(config, remat=EVERYTHING)):
        value, gradient = jax.jit(jax.value_and_grad(partial(loss, model)))(params)
        np.testing.assert_allclose(value, expected, rtol=1e-5)
        for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(slope), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4, rtol=1e-4)
    apart = nn.take_apart(params, "layers")
    last = jax.jit(partial(loss, Decoder(config, unroll=True)))(apart)
    np.testing.assert_allclose(last, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("config", "unroll"),
    [
        pytest.param(CONFIG, False, id="gpt2"),
        pytest.param(LLAMA, True, id="llama-unrolled"),
        pytest.param(MIXTRAL, False, id="mixtral"),
        pytest.param(CONFIG, True, id="gpt2-unrolled", marks=pytest.mark.soak),
        pytest.param(LLAMA, False, id="llama", marks=pytest.mark.soak),
    ],
)
def test_with_a_cache_as_without(config: DecoderConfig, unroll: bool) -> None:
    """FLAX-7: rows of different lengths, several tokens at once, then one by one."""
    params = params_of(config)
    step = jax.jit(Decoder(config, unroll=unroll).apply)
    full, _ = step(params, TOKENS)
    caches: Any = empty_caches(config, 3, 16, jnp.float32)
    lengths = jnp.asarray([5, 2, 6])
    logits, caches = step(params, TOKENS[:, :6], lengths=lengths, caches=caches)
    for row, length in enumerate([5, 2, 6]):
        np.testing.assert_allclose(logits[row, :length], full[row, :length], atol=1e-5)
    for number in range(4):
        at = (lengths + number)[:, None]
        one = jnp.take_along_axis(TOKENS, at, axis=1)
        logits, caches = step(params, one, caches=caches)
        expected = jnp.take_along_axis(full, at[..., None], axis=1)
        np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert caches[0].lengths.tolist() == [9, 6, 10]


def test_logits_of_one_place() -> None:
    params = params_of(LLAMA)
    full = run(Decoder(LLAMA), params, TOKENS)
    at = jnp.asarray([0, 11, 5])
    one = run(Decoder(LLAMA), params, TOKENS, at=at)
    assert one.shape == (3, 1, 30)
    np.testing.assert_allclose(one[:, 0], full[jnp.arange(3), at], atol=1e-5)


def test_segments_are_documents_apart() -> None:
    params = params_of(CONFIG)
    model = Decoder(CONFIG)
    segments = jnp.asarray([[0] * 5 + [1] * 7] * 3)
    positions = jnp.asarray([[*range(5), *range(7)]] * 3)
    whole = run(model, params, TOKENS, segments=segments, positions=positions)
    parts = [run(model, params, part) for part in (TOKENS[:, :5], TOKENS[:, 5:])]
    np.testing.assert_allclose(whole, jnp.concatenate(parts, axis=1), atol=1e-5)


def test_the_future_is_not_seen() -> None:
    params = params_of(LLAMA)
    before = run(Decoder(LLAMA), params, TOKENS)
    after = run(Decoder(LLAMA), params, TOKENS.at[:, 8].set(1))
    assert np.array_equal(before[:, :8], after[:, :8])
    assert np.abs(np.asarray(before - after))[:, 8:].max() > 0.01


def test_bfloat16_runs_and_is_near() -> None:
    params = params_of(LLAMA)
    exact = run(Decoder(LLAMA), params, TOKENS)
    low = run(Decoder(LLAMA, dtype="bfloat16"), params, TOKENS)
    assert low.dtype == jnp.bfloat16
    assert np.abs(low.astype(jnp.float32) - exact).max() < 0.1 * np.abs(exact).max()


def test_gpt2_has_its_number_of_parameters() -> None:
    shapes = jax.eval_shape(lambda: Decoder(DecoderConfig()).init(jax.random.key(0), TOKENS))
    assert nn.num_params(shapes) == 124_439_808


def test_active_parameters() -> None:
    """MFU, and the summary, count what computes a token."""
    num = sum(int(np.prod(s.shape)) for s in nn.describe(Decoder(MIXTRAL), TOKENS).values())
    idle = 2 * (4 - 2) * 3 * 16 * 24
    assert MIXTRAL.num_active(num) == num - idle
    assert MIXTRAL.flops(num, 8) == 6 * (num - idle) + 12 * 2 * 16 * 8
    assert CONFIG.num_active(num) == num
    table = nn.summary(Decoder(MIXTRAL), TOKENS)
    assert f"{num:,} parameters ({num - idle:,} for one token)" in table


def test_the_weight_of_the_logits() -> None:
    for config_, path in ((CONFIG, ("embed", "table")), (LLAMA, ("head", "kernel"))):
        params = params_of(config_)
        weight, transposed = Decoder(config_).head_weight(params)
        assert weight is params[path[0]][path[1]]
        assert transposed is config_.tied


def test_settings_read_back_equal() -> None:
    scaled = replace(LLAMA, rotary=Rotary(stretch=RopeScaling(2.0, 1.0, 4.0, 99)))
    for settings in (CONFIG, scaled, MIXTRAL):
        assert config.from_json(DecoderConfig, config.to_json(settings)) == settings


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="layers must be ≥ 1, got 0"):
        replace(CONFIG, layers=0)
    with pytest.raises(ValueError, match="3 heads do not divide a width of 16"):
        replace(CONFIG, heads=3, kv_heads=1)
    with pytest.raises(ValueError, match="3 key heads do not divide 4 heads"):
        replace(CONFIG, kv_heads=3)
    with pytest.raises(ValueError, match="experts have no biases: set mlp_bias=false"):
        replace(CONFIG, experts=nn.Routing())
    params = params_of(CONFIG)
    long = jnp.zeros((1, 33), jnp.int32)
    with pytest.raises(ValueError, match="33 tokens, but the model has 32 positions"):
        Decoder(CONFIG).apply(params, long)
    with pytest.raises(
        ValueError, match="capacity must be at most the model's 32 positions, got 33"
    ):
        empty_caches(CONFIG, 1, 33, jnp.float32)
    wrong = params | {"norm": {"scale": jnp.ones(3), "bias": jnp.ones(16)}}
    with pytest.raises(ValueError, match=r"norm/scale: the model expects shape \(16,\).*\(3,\)"):
        Decoder(CONFIG).apply(wrong, TOKENS)
