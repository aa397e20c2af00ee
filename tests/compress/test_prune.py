"""DEEPSPEED-4: heads, channels, layers and weights are removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import transformers
from tests.compress.conftest import CONFIG, ROBERTA, drawn

from barrow.compress.compressed import Measuring
from barrow.compress.prune import Pruning, importance, loss_of, parse_pruning, pruned
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme
from barrow.compress.smaller import prune_model, recovery
from barrow.models import Decoder, Roberta, save
from barrow.models import open as open_model
from barrow.nn import Rotary, take_apart

ROWS = np.random.default_rng(1).integers(2, 39, (8, 16)).astype(np.int32)
LLAMA = replace(
    CONFIG,
    vocab_size=40,
    width=24,
    heads=8,
    kv_heads=4,
    head_dim=4,
    norm="rms",
    activation="silu",
    gated=True,
    rotary=Rotary(),
    attention_bias=False,
    out_bias=False,
    mlp_bias=False,
)


def apart(model: Any) -> tuple[Any, Any]:
    model = replace(model, unroll=True)
    return model, take_apart(drawn(model, *model.config.example), "layers")


def changed(params: Any, layer: int, part: str, name: str, at: Any, factor: float) -> Any:
    """Some inputs of a kernel of a layer, multiplied."""
    layers = list(params["layers"])
    held = layers[layer][part][name]
    inside = held | {"kernel": held["kernel"].at[at].multiply(factor)}
    layers[layer] = layers[layer] | {part: layers[layer][part] | {name: inside}}
    return params | {"layers": tuple(layers)}


@pytest.mark.parametrize("kind", ["llama", "roberta"])
def test_importance_is_the_squared_slope_of_the_loss(kind: str) -> None:
    model, params = apart(Decoder(LLAMA) if kind == "llama" else Roberta(ROBERTA))
    found = importance(model, params, ROWS[:4], mask=39)
    run = jax.jit(lambda p: loss_of(model, p, jnp.asarray(ROWS[:4]), 39))
    for part, name, key in (("attention", "out", "heads"), ("mlp", "down", "channels")):
        for at in (0, 1):
            step = 1e-2
            up, down = (
                float(run(changed(params, 1, part, name, at, 1 + s))) for s in (step, -step)
            )
            slope = (up - down) / (2 * step)
            assert found[1][key][at] == pytest.approx(slope**2, rel=0.1, abs=1e-6)


def test_what_is_removed_is_the_least_important_and_nothing_else() -> None:
    """The smaller model computes what the original does where those parts give nothing."""
    model, params = apart(Decoder(LLAMA))
    # In layer 0 the second key head and its queries matter least, in layer 1 the fourth.
    for layer, group in ((0, 1), (1, 3)):
        queries = slice(2 * group, 2 * group + 2)
        params = changed(params, layer, "attention", "out", queries, 1e-3)
        params = changed(params, layer, "mlp", "down", slice(6 * layer, 6 * layer + 6), 1e-3)
    small, fewer = pruned(model, params, Pruning(heads=0.25, channels=0.25), ROWS)
    assert (small.config.heads, small.config.kv_heads, small.config.head_dim) == (6, 3, 4)
    assert small.config.hidden == 18
    assert fewer["layers"][0]["attention"]["k"]["kernel"].shape == (24, 3, 4)
    zeroed = params
    for layer, group in ((0, 1), (1, 3)):
        zeroed = changed(zeroed, layer, "attention", "out", slice(2 * group, 2 * group + 2), 0)
        zeroed = changed(zeroed, layer, "mlp", "down", slice(6 * layer, 6 * layer + 6), 0)
    expected = computed(model, zeroed, ROWS)
    np.testing.assert_allclose(computed(small, fewer, ROWS), expected, atol=1e-4)


def computed(model: Any, params: Any, rows: np.ndarray) -> jax.Array:
    """Logits."""
    return _RUN(model, params, jnp.asarray(rows))


_RUN = jax.jit(lambda model, params, rows: model.apply(params, rows)[0], static_argnums=0)


def test_layers_and_single_weights() -> None:
    model, params = apart(Decoder(replace(CONFIG, vocab_size=40, layers=4)))
    small, fewer = pruned(model, params, Pruning(layers=0.25), ROWS)
    assert small.config.layers == 3
    # The layer without which the nats, counted from logits, are fewest.
    layers, nats = params["layers"], []
    for i in range(4):
        without = params | {"layers": layers[:i] + layers[i + 1 :]}
        logits = computed(small, without, ROWS[:, :-1])
        logs = np.asarray(jax.nn.log_softmax(logits), np.float64)
        nats.append(-np.take_along_axis(logs, ROWS[:, 1:, None], axis=-1).mean())
    worst = int(np.argmin(nats))
    kept = [i for i in range(4) if i != worst]
    for one, i in zip(fewer["layers"], kept, strict=True):
        expected = layers[i]["mlp"]["up"]["kernel"]
        np.testing.assert_array_equal(one["mlp"]["up"]["kernel"], expected)
    _, sparse = pruned(model, params, Pruning(weights=0.5), ROWS)
    kernel = sparse["layers"][0]["mlp"]["up"]["kernel"]
    assert float((kernel == 0).mean()) == pytest.approx(0.5, abs=0.02)
    kept = np.abs(np.asarray(params["layers"][0]["mlp"]["up"]["kernel"]))[np.asarray(kernel) != 0]
    assert kept.min() >= np.quantile(np.abs(params["layers"][0]["mlp"]["up"]["kernel"]), 0.49)


def test_a_pruned_model_opens_in_transformers_and_recovers(
    corpus: Path,
    store: str,
    tmp_path: Path,
) -> None:
    config = replace(LLAMA, vocab_size=259)
    model = Decoder(config)
    save(tmp_path / "model", model, drawn(model, *config.example), tokenizer="bytes", begin=256)
    few = Measuring(documents=2, rows=4, length=16, speeds=False)
    shares = Pruning(heads=0.25, channels=0.25)
    card = prune_model(tmp_path / "model", tmp_path / "small", shares, corpus, measuring=few)
    assert card.scheme == "without 25% of heads, 25% of channels"
    assert card.bytes_after < card.bytes_before
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "small").eval()
    ids = np.arange(12)[None]
    with torch.inference_mode():
        expected = theirs(torch.from_numpy(ids)).logits.numpy()
    ours = open_model(tmp_path / "small")
    found: Any = ours.model
    np.testing.assert_allclose(computed(found, ours.params, ids), expected, atol=1e-3)
    run = recovery(config, store, steps=30, seq_len=16)
    out = tmp_path / "recovered"
    rate = ["optimizer.schedule.peak=0.003"]
    again = prune_model(
        tmp_path / "model", out, shares, corpus, measuring=few, recover=run, overrides=rate
    )
    assert again.comparison is not None and card.comparison is not None  # noqa: PT018
    assert again.comparison.overall.difference < card.comparison.overall.difference  # type: ignore[operator]


def test_bad_pruning() -> None:
    model, params = apart(Decoder(LLAMA))
    with pytest.raises(ValueError, match="4 key heads serve 2 queries each and are removed whole"):
        pruned(model, params, Pruning(heads=0.125), ROWS)
    with pytest.raises(ValueError, match="10% of 2 layers cannot be removed"):
        pruned(model, params, Pruning(layers=0.1), ROWS)
    with pytest.raises(ValueError, match="prune it first, then quantize"):
        small = quantized(model, params, Scheme("int8", "nearest"))
        pruned(model, small, Pruning(heads=0.25), ROWS)
    encoder, weights = apart(Roberta(ROBERTA))
    with pytest.raises(ValueError, match="RoBERTa's heads cannot be removed"):
        pruned(encoder, weights, Pruning(heads=0.5), ROWS, mask=39)
    with pytest.raises(ValueError, match="the mask's id"):
        pruned(encoder, weights, Pruning(channels=0.5), ROWS)
    assert parse_pruning("heads=0.25,layers=0.5") == Pruning(heads=0.25, layers=0.5)
    for text, why in {
        "head=0.2": "takes heads, channels, layers and weights, got 'head'",
        "heads=few": "heads must be a share such as 0.25, got 'few'",
        "heads=1": "heads must be from 0 to below 1, got 1.0",
        "heads=0": "nothing to prune",
    }.items():
        with pytest.raises(ValueError, match=why):
            parse_pruning(text)
