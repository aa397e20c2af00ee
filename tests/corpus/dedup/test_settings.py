from __future__ import annotations

import pytest

from barrow.corpus.dedup.settings import Deduplication
from barrow.errors import ConfigError


@pytest.mark.parametrize("similarity", [0.0, -1.0, 1.1])
def test_similarity_is_a_share(similarity: float) -> None:
    with pytest.raises(ConfigError, match="similarity"):
        Deduplication(similarity=similarity)


def test_budgets_are_shares() -> None:
    for wrong in ({"budget": 1.5}, {"budgets": {"A": -0.1}}):
        with pytest.raises(ConfigError, match="a budget must be a share"):
            Deduplication(**wrong)  # type: ignore[arg-type]
    assert Deduplication(budget=None, similarity=1.0).budget is None
