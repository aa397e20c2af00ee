from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.goldens import golden
from tests.models import roberta_models

from barrow.models.load import load
from barrow.models.roberta.head_outputs import head_outputs


@golden("torch", "transformers", atol=1e-5)
def by_transformers(kind: str, rows: Any) -> Any:
    import torch

    model = roberta_models.make(kind)
    with torch.no_grad():
        return [model(torch.tensor(row[None]).long()).logits[0] for row in rows]


@pytest.mark.parametrize("kind", ["classify", "tag", "regress"])
def test_each_row_as_transformers_has_it_alone(
    kind: str, roberta_folder: Callable[[str], Path]
) -> None:
    """ROBERTA-3, ROBERTA-5: rows of several lengths, in batches, in their order."""
    loaded = load(roberta_folder(kind), unstack=True)
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, 329, num).astype(np.int32) for num in (14, 3, 9, 16, 5)]
    found = head_outputs(loaded.model, loaded.params, rows, tokens=48)
    wanted = by_transformers(kind, rows)
    for row, out, expected in zip(rows, found, wanted, strict=True):
        shape = {"classify": (3,), "tag": (len(row), 5), "regress": ()}[kind]
        assert out.shape == shape
        np.testing.assert_allclose(out, expected.reshape(shape), atol=1e-4)


def test_no_rows_and_no_room(roberta_folder: Callable[[str], Path]) -> None:
    loaded = load(roberta_folder("classify"), unstack=True)
    assert head_outputs(loaded.model, loaded.params, []) == []
    with pytest.raises(ValueError, match="tokens must be ≥ 1, got 0"):
        head_outputs(loaded.model, loaded.params, [], tokens=0)
