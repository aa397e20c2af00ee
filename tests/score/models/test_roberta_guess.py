"""Pseudo-likelihood by our own RoBERTa is that of transformers: test_masked_model compares both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from barrow.errors import ScoreError
from barrow.models.load import load
from barrow.models.text import open_tokenizer
from barrow.score.models.masked import roberta_guess
from barrow.score.models.open import open_model
from barrow.tokens import ByteTokenizer


def test_rows_that_fill_a_batch_change_nothing(roberta_folder) -> None:
    loaded = load(roberta_folder("mlm"))
    guess = roberta_guess(loaded.model, loaded.params, open_tokenizer(loaded.tokenizer))
    rng = np.random.default_rng(0)
    rows, lengths = rng.integers(5, 300, (5, 20)), np.array([20, 3, 11, 19, 7])
    places, targets = lengths - 1, rng.integers(5, 300, 5)
    together = guess(rows, lengths, places, targets)
    apart = [
        guess(rows[[i], : lengths[i]], lengths[[i]], places[[i]], targets[[i]])[0] for i in range(5)
    ]
    np.testing.assert_allclose(together, apart, atol=1e-5)


def test_bad_input(roberta_folder, tmp_path: Path) -> None:
    loaded = load(roberta_folder("mlm"))

    class Wide(ByteTokenizer):
        vocab_size = 100_000

    with pytest.raises(ScoreError, match="ids up to 99999, but the model's vocabulary is 330"):
        roberta_guess(loaded.model, loaded.params, Wide())
    with pytest.raises(ScoreError, match="it has no language-modelling head"):
        open_model(str(roberta_folder("bare")))
