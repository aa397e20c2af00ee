from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from barrow.models.load import load
from barrow.models.roberta.attention_maps import attention_maps, hidden_states

TOKENS = np.array([[0, 9, 8, 7, 2]])


def test_a_model_with_a_head_has_the_same_inside(roberta_folder: Callable[[str], Path]) -> None:
    """Values are compared with those of transformers in test_roberta.py."""
    loaded = load(roberta_folder("tag"), unstack=False)
    body = loaded.model.body
    whole = hidden_states(loaded.model, loaded.params, TOKENS)
    assert np.array_equal(whole, hidden_states(body, loaded.params, TOKENS))
    assert whole.shape == (3, 1, 5, 32)
    assert attention_maps(loaded.model, loaded.params, TOKENS).shape == (2, 1, 4, 5, 5)
