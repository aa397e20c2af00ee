from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import transformers

from barrow.models import DecoderConfig
from barrow.serve.requests import MOST_BIASES, Choice, Level, Request
from barrow.serve.sampling import Settings, _highest, _likeliest, _penalised, choose, known
from barrow.serve.step import slot_of

VOCAB = 50
CONFIG = DecoderConfig(vocab_size=VOCAB, width=8, heads=2, context=24)
EVERYTHING = np.full((1, -(-VOCAB // 32)), 2**32 - 1, np.uint32)


def settings(*choices: Choice, num_prompt: int = 4) -> Settings:
    rows = [
        slot_of(CONFIG, [], Request([0] * num_prompt, 1, choice)).settings for choice in choices
    ]
    return jax.tree.map(lambda *xs: jnp.asarray(np.stack(xs)), *rows)  # type: ignore[no-any-return]


def logits(rows: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(0, 2, (rows, VOCAB)), jnp.float32)


def theirs(processor: Any, x: jax.Array, ids: Any = None) -> np.ndarray:
    ids = torch.zeros((len(x), 1), dtype=torch.long) if ids is None else torch.tensor(ids)
    return processor(ids, torch.tensor(np.asarray(x))).numpy()  # type: ignore[no-any-return]


def test_the_likeliest_as_transformers_has_them() -> None:
    """top_k, top_p and min_p, each with its own number in each row."""
    x = logits(6)
    num = [1, 5, 50, 50, 50, 20]
    share = [1.0, 1.0, 0.3, 0.9, 1.0, 0.7]
    least = [0.0, 0.0, 0.0, 0.0, 0.1, 0.05]
    found = _likeliest(x, *map(jnp.asarray, (num, share, least)))
    for row in range(6):
        expected = x[row : row + 1]
        for processor in (
            transformers.TopKLogitsWarper(num[row]),
            transformers.TopPLogitsWarper(share[row]),
            transformers.MinPLogitsWarper(max(least[row], 1e-30)),
        ):
            expected = theirs(processor, expected)
        np.testing.assert_array_equal(found[row : row + 1], expected)


def test_a_threshold_is_exact_for_all_numbers() -> None:
    x = jnp.asarray([[-0.0, 1e-45, -1e30, 3.0, 3.0, -jnp.inf, 1e30, -1e-45]], jnp.float32)
    ordered = np.sort(np.asarray(x)[0])[::-1]
    for num in range(1, 9):
        found = _highest(x, lambda kept, num=num: kept.sum(axis=-1) >= num)
        kept = np.asarray(found)[0] > -np.inf
        assert (kept | (np.asarray(x)[0] == -np.inf)).sum() >= num
        assert np.asarray(x)[0][kept].min() == max(ordered[num - 1], -1e30)


def test_penalties_as_transformers_and_openai_define_them() -> None:
    x = logits(1)
    text = np.array([[3, 3, 7, 9, 7, 7, 11, 0, 0, 0]])
    choice = Choice(repetition=1.3)
    found = _penalised(settings(choice), x, jnp.asarray(text), jnp.asarray([7]))
    expected = theirs(transformers.RepetitionPenaltyLogitsProcessor(1.3), x, text[:, :7])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    choice = Choice(presence=0.5, frequency=0.25)
    found = _penalised(settings(choice), x, jnp.asarray(text), jnp.asarray([7]))
    counts = np.bincount(text[0, 4:7], minlength=VOCAB)
    np.testing.assert_allclose(found[0], x[0] - 0.5 * (counts > 0) - 0.25 * counts, rtol=1e-6)


def test_draws_have_the_probabilities_of_the_model() -> None:
    num = 4000
    x = jnp.broadcast_to(logits(1), (num, VOCAB))
    how = settings(*[Choice(temperature=0.7, top_k=8)] * num)
    lengths = jnp.arange(num, dtype=jnp.int32)  # another position, another draw
    given = how, x, jnp.zeros((num, 24), jnp.int32), lengths, np.repeat(EVERYTHING, num, 0)
    tokens = jax.jit(choose)(*given)
    row = np.asarray(x[0], np.float64)
    kept = np.where(row >= np.sort(row)[-8], row / 0.7, -np.inf)
    expected = np.exp(kept) / np.exp(kept).sum()
    counts = np.bincount(tokens, minlength=VOCAB)
    assert (counts[expected == 0] == 0).all()
    spread = np.sqrt(num * expected * (1 - expected)) + 1e-9
    assert (np.abs(counts - num * expected)[expected > 0] < 5 * spread[expected > 0]).all()
    # Log-probabilities are those of the model, before temperature and top_k.
    plain = row - np.log(np.exp(row).sum())
    np.testing.assert_allclose(known(x, tokens), plain[np.asarray(tokens)], atol=1e-5)


def test_top_p_counts_the_probabilities_after_the_temperature() -> None:
    """By the definition, in float64. Before it, another number of tokens would be drawn."""
    num, temperature = 2000, 0.5
    x = jnp.broadcast_to(logits(1), (num, VOCAB))
    how = settings(*[Choice(temperature=temperature, top_p=0.7)] * num)
    lengths = jnp.arange(num, dtype=jnp.int32)
    given = how, x, jnp.zeros((num, 24), jnp.int32), lengths, np.repeat(EVERYTHING, num, 0)
    counts = np.bincount(jax.jit(choose)(*given), minlength=VOCAB)
    row = np.asarray(x[0], np.float64)
    kept = {}
    for scale in (temperature, 1.0):
        every = np.exp(row / scale) / np.exp(row / scale).sum()
        order = np.argsort(-every)
        kept[scale] = order[: np.searchsorted(every[order].cumsum(), 0.7) + 1]
    assert len(kept[temperature]) != len(kept[1.0])
    expected = np.zeros(VOCAB)
    expected[kept[temperature]] = np.exp(row[kept[temperature]] / temperature)
    expected /= expected.sum()
    assert (counts[expected == 0] == 0).all()
    spread = np.sqrt(num * expected * (1 - expected)) + 1e-9
    assert (np.abs(counts - num * expected)[expected > 0] < 5 * spread[expected > 0]).all()


def test_rows_do_not_change_each_other() -> None:
    """Also where a neighbour needs what a row does not."""
    choices = [
        Choice(),
        Choice(temperature=1.0, seed=3),
        Choice(temperature=0.5, top_k=3, min_p=0.1, seed=4),
        Choice(repetition=2.0, frequency=1.0),
        Choice(bias={5: 30.0}),
    ]
    x, texts = logits(5), jnp.asarray(np.random.default_rng(1).integers(0, VOCAB, (5, 24)))
    lengths = jnp.asarray([5, 6, 7, 8, 9])
    masks = np.repeat(EVERYTHING, 5, 0)
    run = jax.jit(choose)
    together = run(settings(*choices), x, texts, lengths, masks)
    for row, choice in enumerate(choices):
        same = [choice] * 5
        assert int(run(settings(*same), x, texts, lengths, masks)[row]) == int(together[row])
        if choice.is_plain:
            level: Level = "drawn" if choice.temperature else "greedy"
            short = jax.jit(partial(choose, level=level))
            found = short(settings(*same), x, texts, lengths, masks)
            assert int(found[row]) == int(together[row])
    assert [choice.is_plain for choice in choices] == [True, True, False, False, False]
    assert int(together[4]) == 5
    masks[0] = 0
    masks[0, 1] = 1 << 3
    assert int(run(settings(*choices), x, texts, lengths, masks)[0]) == 35


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": -1.0}, "temperature must be ≥ 0, got -1"),
        ({"temperature": float("nan")}, "temperature must be ≥ 0, got nan"),
        ({"top_k": 0}, "top_k must be ≥ 1, got 0"),
        ({"top_p": 0.0}, "top_p must be > 0 and ≤ 1"),
        ({"min_p": 1.5}, "min_p must be from 0 to 1"),
        ({"repetition": 0.0}, "repetition must be > 0"),
        ({"presence": float("nan")}, "presence must be a number"),
        ({"frequency": float("inf")}, "frequency must be a number"),
        ({"bias": {1: float("nan")}}, "biases must be numbers"),
        ({"bias": dict.fromkeys(range(MOST_BIASES + 1), 1.0)}, "bias may have 300 tokens"),
        ({"seed": -1}, "seed must be from 0"),
    ],
)
def test_bad_settings(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**wrong)
