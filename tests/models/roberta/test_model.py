from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden
from tests.models import roberta_models

from barrow import nn
from barrow.models import Roberta, RobertaConfig
from barrow.models.load import load
from barrow.models.roberta.attention_maps import attention_maps, hidden_states
from barrow.models.roberta.model import SIZES, full_positions, head_weight, padded_positions
from barrow.nn.cross_entropy import cross_entropy
from barrow.nn.layers.remat import EVERYTHING

RNG = np.random.default_rng(0)
LENGTHS = np.array([20, 7], np.int32)
TOKENS = RNG.integers(4, 329, (2, 20)).astype(np.int32)
TOKENS[np.arange(20) >= LENGTHS[:, None]] = 1
REAL = np.arange(20) < LENGTHS[:, None]
AT = np.array([[3, 1], [6, 0]])


@partial(jax.jit, static_argnames=("model", "method"))
def run(model: Any, params: Any, *args: Any, method: str = "__call__", **inputs: Any) -> Any:
    """`apply`, compiled: operation by operation it would take seconds."""
    return model.apply(params, *args, method=getattr(model, method), **inputs)


@golden("torch", "transformers", atol=1e-5)
def by_transformers() -> Any:
    import torch

    with torch.no_grad():
        found = roberta_models.make("mlm")(
            torch.tensor(TOKENS).long(),
            attention_mask=torch.tensor(REAL).long(),
            output_hidden_states=True,
            output_attentions=True,
        )
    names = ("logits", "hidden_states", "attentions")
    return {name: getattr(found, name) for name in names}


@golden("torch", "transformers", atol=1e-5)
def output_of(kind: str, name: str, tokens: Any, **inputs: Any) -> Any:
    """An output of a model, or of its encoder where it has no such output."""
    import torch

    model = roberta_models.make(kind)
    model = model.roberta if name == "last_hidden_state" else model
    given = {key: torch.tensor(x).long() for key, x in inputs.items()}
    with torch.no_grad():
        return getattr(model(torch.tensor(tokens).long(), **given), name)


@golden("torch", "transformers")
def positions_by_transformers(tokens: Any) -> Any:
    import torch
    from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

    return RobertaEmbeddings.create_position_ids_from_input_ids(torch.tensor(tokens), 1)


@pytest.fixture(scope="module")
def theirs() -> Any:
    return SimpleNamespace(**by_transformers())


@pytest.fixture(scope="module")
def loaded(roberta_folder: Callable[[str], Path]) -> Any:
    return load(roberta_folder("mlm"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("distilroberta-base", 82_170_201),
        ("roberta-base", 124_697_433),
        ("roberta-large", 355_412_057),
    ],
)
def test_numbers_of_parameters(name: str, expected: int) -> None:
    """ROBERTA-8: found without allocating any."""
    shape = jax.ShapeDtypeStruct((1, 4), jnp.int32)
    made = jax.eval_shape(Roberta(SIZES[name]).init, jax.random.key(0), shape)
    assert nn.num_params(made) == expected


def test_every_hidden_state(loaded: Any, theirs: Any) -> None:
    """ROBERTA-2, ROBERTA-5: random weights, fp32, padded rows, within 1e-4 of transformers."""
    ours = hidden_states(loaded.model, loaded.params, TOKENS, LENGTHS)
    assert ours.shape == (3, 2, 20, 32)
    for number, expected in enumerate(theirs.hidden_states):
        np.testing.assert_allclose(ours[number][REAL], expected[REAL], atol=1e-4)
    last = run(loaded.model, loaded.params, TOKENS, lengths=LENGTHS)
    np.testing.assert_allclose(last[REAL], ours[-1][REAL], atol=1e-5)


def test_every_attention_map(loaded: Any, theirs: Any) -> None:
    """ROBERTA-6: [layers, batch, heads, length, length], rows sum to 1."""
    ours = np.asarray(attention_maps(loaded.model, loaded.params, TOKENS, LENGTHS))
    assert ours.shape == (2, 2, 4, 20, 20)
    np.testing.assert_allclose(ours.sum(-1), 1, atol=1e-5)
    for layer, expected in enumerate(theirs.attentions):
        for row, length in enumerate(LENGTHS):
            np.testing.assert_allclose(
                ours[layer, row, :, :length], expected[row, :, :length], atol=1e-4
            )


def test_logits_of_all_places_and_of_some(loaded: Any, theirs: Any) -> None:
    """ROBERTA-1: MLM logits within 1e-4; those of chosen places are the same."""
    model, params = loaded.model, loaded.params
    hidden = run(model, params, TOKENS, lengths=LENGTHS)
    logits = run(model, params, hidden, method="logits")
    np.testing.assert_allclose(logits[REAL], theirs.logits[REAL], atol=1e-4)
    some = run(model, params, TOKENS, AT, lengths=LENGTHS, method="masked_logits")
    assert some.shape == (2, 2, 330)
    expected = np.take_along_axis(theirs.logits, AT[..., None], 1)
    np.testing.assert_allclose(some, expected, atol=1e-4)


def test_padding_changes_nothing(loaded: Any) -> None:
    """ROBERTA-5: padded equals unpadded to 1e-5, by lengths and by a mask, on either side."""
    model, params = loaded.model, loaded.params
    alone = [run(model, params, TOKENS[i : i + 1, :n])[0] for i, n in enumerate(LENGTHS)]
    by_lengths = run(model, params, TOKENS, lengths=LENGTHS)
    by_mask = run(model, params, TOKENS, mask=REAL)
    left = np.stack([np.roll(row, 20 - n) for row, n in zip(TOKENS, LENGTHS, strict=True)])
    on_the_left = run(model, params, left, mask=left != 1)
    for row, length in enumerate(LENGTHS):
        np.testing.assert_allclose(by_lengths[row, :length], alone[row], atol=1e-5)
        np.testing.assert_allclose(by_mask[row, :length], alone[row], atol=1e-5)
        np.testing.assert_allclose(on_the_left[row, 20 - length :], alone[row], atol=1e-5)
    with pytest.raises(ValueError, match="pass a mask, or lengths and segments"):
        run(model, params, TOKENS, mask=REAL, lengths=LENGTHS)


def test_documents_in_a_row_do_not_see_one_another(loaded: Any) -> None:
    model, params = loaded.model, loaded.params
    row = TOKENS[:1]
    segments = np.array([[0] * 10 + [1] * 10])
    positions = np.tile(np.arange(10), 2)[None] + 2
    together = run(model, params, row, segments=segments, positions=positions)[0]
    np.testing.assert_allclose(together[:10], run(model, params, row[:, :10])[0], atol=1e-5)
    np.testing.assert_allclose(together[10:], run(model, params, row[:, 10:])[0], atol=1e-5)


@pytest.mark.parametrize("choice", [{"unroll": True}, {"remat": EVERYTHING}, {"backend": "rows"}])
def test_how_it_is_run_is_no_matter(loaded: Any, choice: dict[str, Any]) -> None:
    expected = run(loaded.model, loaded.params, TOKENS, lengths=LENGTHS)
    found = run(replace(loaded.model, **choice), loaded.params, TOKENS, lengths=LENGTHS)
    np.testing.assert_allclose(found[REAL], expected[REAL], atol=1e-5)


def test_bfloat16(roberta_folder: Callable[[str], Path], theirs: Any) -> None:
    """Hidden states and logits within 3% of the largest number of transformers in float32."""
    low = load(roberta_folder("mlm"), dtype="bfloat16")
    hidden = run(low.model, low.params, TOKENS, lengths=LENGTHS)
    assert hidden.dtype == jnp.bfloat16
    expected = theirs.hidden_states[-1]
    assert np.abs(np.asarray(hidden, np.float32) - expected)[REAL].max() < 0.03 * expected.max()
    logits = np.asarray(run(low.model, low.params, hidden, method="logits"), np.float32)
    expected = theirs.logits
    assert np.abs(logits - expected)[REAL].max() < 0.03 * np.abs(expected).max()


def test_positions() -> None:
    """Counted behind the padding id over what is not padding, as transformers counts them."""
    tokens = np.array([[0, 5, 1, 7, 2, 1, 1], [1, 1, 0, 5, 6, 7, 2]])
    expected = positions_by_transformers(tokens)
    assert np.array_equal(padded_positions(jnp.asarray(tokens), 1), expected)
    assert full_positions(RobertaConfig(), 3).tolist() == [[2, 3, 4]]


def test_past_the_positions(loaded: Any) -> None:
    assert RobertaConfig().context == 512
    model = Roberta(RobertaConfig(layers=1))
    with pytest.raises(
        ValueError,
        match="513 tokens, but the model takes 512 .its 514 positions start after the padding .*"
        "Shorten the text, or truncate it",
    ):
        model.init(jax.random.key(0), jax.ShapeDtypeStruct((1, 513), jnp.int32))
    run(loaded.model, loaded.params, np.full((1, 64), 5, np.int32))
    with pytest.raises(ValueError, match="65 tokens, but the model takes 64"):
        run(loaded.model, loaded.params, np.full((1, 65), 5, np.int32))


def test_token_types(loaded: Any, roberta_folder: Callable[[str], Path]) -> None:
    with pytest.raises(ValueError, match=r"token type 1, but the model has 1 \(0 to 0\): RoBERTa"):
        loaded.model.apply(loaded.params, TOKENS, token_types=np.ones_like(TOKENS))
    assert np.isnan(
        run(loaded.model, loaded.params, TOKENS, token_types=np.ones_like(TOKENS))
    ).all()
    two, kinds = load(roberta_folder("types")), RNG.integers(0, 2, TOKENS.shape)
    expected = output_of("types", "last_hidden_state", TOKENS, token_type_ids=kinds)
    ours = run(two.model, two.params, TOKENS, token_types=kinds)
    np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_an_untied_head(roberta_folder: Callable[[str], Path]) -> None:
    untied = load(roberta_folder("untied"))
    assert untied.report.is_exact
    model, params = untied.model, untied.params
    expected = output_of("untied", "logits", TOKENS)
    hidden = run(model, params, TOKENS)
    logits = run(model, params, hidden, method="logits")
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    weight, bias, transposed = head_weight(model.config, params)
    assert not transposed
    states = run(model, params, hidden, method="head_states")
    np.testing.assert_allclose(states @ weight + bias, expected, atol=1e-4)


def test_the_loss_of_masked_places(loaded: Any) -> None:
    """The head's states, weight and bias are what `cross_entropy` takes."""
    model, params = loaded.model, loaded.params
    targets = np.array([[9, 8], [7, 6]])
    hidden = run(model, params, TOKENS, lengths=LENGTHS)
    states = run(model, params, hidden, AT, method="head_states")
    weight, bias, transposed = head_weight(model.config, params)
    ones = jnp.ones(AT.shape)
    nats = cross_entropy(states, weight, targets, ones, bias=bias, transposed=transposed)
    logits = run(model, params, hidden, AT, method="logits")
    shares = jax.nn.log_softmax(logits)
    expected = -jnp.take_along_axis(shares, targets[..., None], -1).sum()
    np.testing.assert_allclose(nats, expected, rtol=1e-5)


def test_the_pooler(roberta_folder: Callable[[str], Path], loaded: Any) -> None:
    bare = load(roberta_folder("bare"))
    model, params = bare.model, bare.params
    assert model.config.pooler
    assert not model.config.mlm_head
    expected = output_of("bare", "pooler_output", TOKENS[:1])
    hidden = run(model, params, TOKENS[:1])
    np.testing.assert_allclose(run(model, params, hidden, method="pooled"), expected, atol=1e-4)
    with pytest.raises(ValueError, match="the model has no pooler"):
        run(loaded.model, loaded.params, hidden, method="pooled")


def test_dropout_only_with_a_key(loaded: Any) -> None:
    first = run(loaded.model, loaded.params, TOKENS, method="embedded")
    keys = {"dropout": jax.random.key(0)}
    dropped = run(loaded.model, loaded.params, TOKENS, keys=keys, method="embedded")
    assert 0.05 < np.mean(np.asarray(dropped) == 0) < 0.15
    assert not np.any(np.asarray(first) == 0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"heads": 5}, "5 heads do not divide a width of 768"),
        ({"layers": 0}, "layers must be ≥ 1, got 0"),
        ({"pad": 60000}, "pad must be an id below vocab_size 50265, got 60000"),
        ({"positions": 2}, "positions start after the padding id 1: 2 rows leave 0"),
        ({"activation": "swosh"}, "no activation 'swosh'"),
    ],
)
def test_bad_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RobertaConfig(**settings)
