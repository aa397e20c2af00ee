from __future__ import annotations

import math
from typing import Any

import pytest

from barrow.errors import ScoreError
from barrow.score import PROTOCOLS
from barrow.score.conformance.check import (
    Check,
    Verdict,
    barrow_scorer,
    documents_of,
    far,
    rows,
    verdict,
)
from barrow.score.conformance.models import RuleModel, uniform_rule
from barrow.tokens import ByteTokenizer


def test_the_scorer_is_that_of_barrow_score() -> None:
    model = RuleModel(ByteTokenizer(), uniform_rule(16), max_length=8)
    result = barrow_scorer(model, PROTOCOLS["pile"], documents_of(["abcd", "", "é"]))
    assert result.overall.bpb == pytest.approx(4)
    assert rows(result).nats.tolist() == pytest.approx([4 * math.log(16), 0, 2 * math.log(16)])
    assert [row.name for row in result.domains] == ["A", "B"]
    assert result.card.window is not None
    assert result.card.window.protocol == "pile"


def test_a_scorer_that_raises_has_not_passed() -> None:
    def run(scorer: Any) -> Verdict:
        raise ScoreError("document 3: NaN")

    assert verdict(Check("x", "y", run), barrow_scorer) == Verdict(
        False, "ScoreError: document 3: NaN"
    )


@pytest.mark.parametrize(
    ("found", "expected", "distance"), [(1.5, 1, 0.5), (0.25, 0, 0.25), (220, 200, 0.1), (-3, 3, 2)]
)
def test_far(found: float, expected: float, distance: float) -> None:
    assert far(found, expected) == pytest.approx(distance)
