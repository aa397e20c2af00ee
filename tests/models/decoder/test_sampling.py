from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden

from barrow.models.decoder.sampling import GREEDY, Sampling, candidates, choose, chooser

LOGITS = 3 * np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)


def shares(sampling: Sampling) -> np.ndarray:
    """The probabilities that are drawn from, of every id."""
    values, ids = candidates(chooser(sampling), jnp.asarray(LOGITS))
    found = np.asarray(jax.nn.softmax(values, axis=-1))
    if ids is None:
        return found
    spread = np.zeros(LOGITS.shape, np.float32)
    np.put_along_axis(spread, np.asarray(ids), found, axis=-1)
    return spread


@golden("torch", "transformers")
def by_transformers(temperature: float, top_k: int | None, top_p: float | None) -> np.ndarray:
    import torch
    import transformers

    scores = transformers.TemperatureLogitsWarper(temperature)(None, torch.tensor(LOGITS))
    if top_k is not None:
        scores = transformers.TopKLogitsWarper(top_k)(None, scores)
    if top_p is not None:
        scores = transformers.TopPLogitsWarper(top_p)(None, scores)
    return torch.softmax(scores, -1)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(0.7),
        Sampling(1.3, top_k=5),
        Sampling(0.8, top_p=0.6),
        Sampling(1.0, top_k=20, top_p=0.9),
        Sampling(1.0, top_p=1e-6),
        Sampling(1.0, top_k=500, top_p=1.0),
    ],
)
def test_probabilities_as_in_transformers(sampling: Sampling) -> None:
    expected = by_transformers(sampling.temperature, sampling.top_k, sampling.top_p)
    np.testing.assert_allclose(shares(sampling), expected, atol=1e-6)


def test_draws_follow_the_probabilities() -> None:
    sampling = Sampling(1.5, top_k=6, top_p=0.95)
    row = jnp.broadcast_to(jnp.asarray(LOGITS[0]), (20_000, 50))
    keys = jax.random.split(jax.random.key(0), 20_000)
    drawn = np.bincount(choose(chooser(sampling), row, keys), minlength=50) / 20_000
    np.testing.assert_allclose(drawn, shares(sampling)[0], atol=0.015)


def test_greedy_takes_the_largest_and_top_1_too() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    for sampling in (GREEDY, Sampling(2.0, top_k=1)):
        found = choose(chooser(sampling), jnp.asarray(LOGITS), keys)
        assert np.array_equal(found, LOGITS.argmax(-1))


def test_another_temperature_is_the_same_program() -> None:
    traced = []

    @jax.jit
    def run(how, logits, keys):  # type: ignore[no-untyped-def]
        traced.append(1)
        return choose(how, logits, keys)

    keys = jax.random.split(jax.random.key(0), 4)
    for sampling in (Sampling(0.5, top_p=0.5), Sampling(0.9, top_p=0.7)):
        run(chooser(sampling), jnp.asarray(LOGITS), keys)
    assert len(traced) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0,), "temperature must be ≥ 0, got -1.0"),
        ((float("nan"),), "temperature must be ≥ 0, got nan"),
        ((1.0, 0), "top_k must be ≥ 1, got 0"),
        ((1.0, None, 0.0), "top_p must be > 0 and ≤ 1, got 0.0"),
        ((1.0, None, 1.1), "top_p must be > 0 and ≤ 1, got 1.1"),
        ((0.0, 5), "need a temperature above 0"),
    ],
)
def test_wrong_settings(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(*arguments)
