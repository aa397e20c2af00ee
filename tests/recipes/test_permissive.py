from __future__ import annotations

import pytest

from barrow.recipes import permissive, pile


def test_four_domains_are_left_out_and_the_rest_keeps_its_proportions() -> None:
    recipe, whole = permissive.recipe(), pile.recipe()
    assert set(whole.domains) - set(recipe.domains) == set(permissive.LEFT_OUT)
    assert len(recipe.domains) == 18
    weights = {folder: d.weight or 0 for folder, d in recipe.domains.items()}
    assert sum(weights.values()) == pytest.approx(100)
    before = whole.domains["arxiv"].weight, whole.domains["github"].weight
    assert weights["arxiv"] / weights["github"] == pytest.approx(before[0] / before[1])  # type: ignore[operator]
