from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.goldens import golden
from tests.models import roberta_models

from barrow.models.buckets import bucket
from barrow.models.load import load
from barrow.models.roberta import encode
from barrow.models.roberta.encode import batches_of, embed, up_to_layer

RNG = np.random.default_rng(0)
ROWS = [RNG.integers(4, 329, n).astype(np.int32) for n in (5, 40, 16, 9, 48, 3, 12)]


@pytest.fixture(scope="module")
def loaded(roberta_folder: Callable[[str], Path]) -> Any:
    return load(roberta_folder("mlm"), unstack=True)


@golden("torch", "transformers", atol=1e-5)
def expected_of(layer: int, pool: str) -> Any:
    import torch

    model, found = roberta_models.make("mlm"), []
    for row in ROWS:
        with torch.no_grad():
            out = model(torch.tensor(row)[None].long(), output_hidden_states=True)
        hidden = out.hidden_states[layer][0].numpy()
        one = {"mean": hidden.mean(0), "cls": hidden[0], "max": hidden.max(0)}[pool]
        found.append(one)
    return np.stack(found)


@pytest.mark.parametrize(("layer", "pool"), [(-1, "mean"), (1, "max"), (0, "mean"), (2, "cls")])
def test_each_row_as_if_it_were_alone(layer: int, pool: Any, loaded: Any) -> None:
    """ROBERTA-2, ROBERTA-5: any layer, any pooling; in order, whatever is padded with what."""
    found = np.concatenate(
        list(embed(loaded.model, loaded.params, ROWS, layer=layer, pool=pool, tokens=64, ahead=4))
    )
    np.testing.assert_allclose(found, expected_of(layer, pool), atol=1e-4)


@pytest.mark.parametrize(("layer", "pool"), [(-1, "mean"), (1, "max"), (0, "mean"), (2, "cls")])
def test_packed_as_if_each_were_alone(
    layer: int, pool: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ROBERTA-5: as where a kernel attends to short rows; 48 tokens are too long for the rows."""
    monkeypatch.setattr(encode, "packs", lambda body: True)
    monkeypatch.setattr(encode, "MOST", 40)
    used: list[Any] = []
    whole = encode._pooled_together
    monkeypatch.setattr(
        encode, "_pooled_together", lambda *g, **k: (used.append(g[2].shape), whole(*g, **k))[1]
    )
    found = np.concatenate(
        list(embed(loaded.model, loaded.params, ROWS, layer=layer, pool=pool, tokens=80))
    )
    assert used == [(2, 40), (1, 40)]  # 85 tokens of six texts
    np.testing.assert_allclose(found, expected_of(layer, pool), atol=1e-4)
    with pytest.raises(ValueError, match="row 1 has no tokens"):
        list(embed(loaded.model, loaded.params, [[5], []]))


def test_many_very_short_texts_are_packed(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row[: 1 + number % 3] for number, row in enumerate(ROWS * 20)]
    wanted = np.concatenate(list(embed(loaded.model, loaded.params, rows)))
    monkeypatch.setattr(encode, "packs", lambda body: True)
    found = np.concatenate(list(embed(loaded.model, loaded.params, rows, tokens=1024)))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_batches_and_windows_change_nothing(loaded: Any) -> None:
    """ROBERTA-5: to 1e-5."""
    whole = np.concatenate(list(embed(loaded.model, loaded.params, ROWS)))
    alone = [next(embed(loaded.model, loaded.params, [row]))[0] for row in ROWS[:2]]
    np.testing.assert_allclose(whole[:2], alone, atol=1e-5)
    blocks = list(embed(loaded.model, loaded.params, iter(ROWS), ahead=3, tokens=64))
    assert [len(block) for block in blocks] == [3, 3, 1]
    np.testing.assert_allclose(np.concatenate(blocks), whole, atol=1e-5)
    assert not list(embed(loaded.model, loaded.params, []))


def test_layers_in_one_array(loaded: Any, roberta_folder: Callable[[str], Path]) -> None:
    stacked = load(roberta_folder("mlm"))
    apart = next(embed(loaded.model, loaded.params, ROWS[:1], layer=1))
    np.testing.assert_allclose(
        next(embed(stacked.model, stacked.params, ROWS[:1], layer=1)), apart, atol=1e-5
    )


def test_layers_past_the_one_asked_for_are_gone(loaded: Any) -> None:
    body, params, number = up_to_layer(loaded.model, loaded.params, 1)
    assert (body.config.layers, len(params["layers"]), number) == (1, 1, 1)
    assert up_to_layer(loaded.model, loaded.params, -1)[2] == 2
    assert up_to_layer(loaded.model, loaded.params, -3)[2] == 0


@given(st.lists(st.integers(1, 64), max_size=60), st.integers(1, 300))
def test_batches_are_a_division_within_bounds(lengths: list[int], tokens: int) -> None:
    found = batches_of([range(length) for length in lengths], 64, tokens)
    assert sorted(place for batch in found for place in batch.rows) == list(range(len(lengths)))
    for batch in found:
        assert batch.length == bucket(max(lengths[place] for place in batch.rows), 64)
        assert len(batch.rows) <= batch.num_rows
        assert batch.num_rows == 1 or batch.num_rows * batch.length <= tokens


def test_bad_input(loaded: Any) -> None:
    for options, words in (
        (
            {"layer": 3},
            "layer must be from 0 .the embeddings. to 2, or −1 to −3 from the end, got 3",
        ),
        ({"layer": -4}, "got -4"),
        ({"pool": "sum"}, "pool must be mean, cls or max, got 'sum'"),
        ({"ahead": 0}, "ahead and tokens must be ≥ 1"),
    ):
        with pytest.raises(ValueError, match=words):
            embed(loaded.model, loaded.params, ROWS, **options)
    with pytest.raises(ValueError, match="row 1 has no tokens"):
        list(embed(loaded.model, loaded.params, [[5], []]))
    with pytest.raises(ValueError, match="65 tokens, but"):
        list(embed(loaded.model, loaded.params, [[5] * 65]))
