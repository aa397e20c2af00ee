from __future__ import annotations

import pytest

from barrow.score.board.published import PUBLISHED, WEIGHTS


def test_twenty_two_components_and_eleven_models() -> None:
    assert len(WEIGHTS) == 22
    assert sum(WEIGHTS.values()) == pytest.approx(100, abs=0.05)
    assert [published.model for published in PUBLISHED] == [
        *("GPT-2 small", "GPT-2 medium", "GPT-2 large", "GPT-2 XL"),
        *("GPT-3 Ada", "GPT-3 Babbage", "GPT-3 Curie", "GPT-3 DaVinci"),
        *("1.3B on the Pile", "1.3B on CC-100", "1.3B on raw CC"),
    ]
    for published in PUBLISHED:
        assert list(published.bpb) == list(WEIGHTS)
        assert all(0.4 < value < 3.5 for value in published.bpb.values())


def test_figures_of_the_paper() -> None:
    """PILE-10: some figures of the paper's tables, one for each model's family."""
    bpb = {published.model: published.bpb for published in PUBLISHED}
    assert bpb["GPT-2 small"]["Pile-CC"] == 1.0878
    assert bpb["GPT-2 XL"]["DM Mathematics"] == 2.4377
    assert bpb["GPT-3 DaVinci"]["Github"] == 0.5635
    assert bpb["1.3B on the Pile"]["Enron Emails"] == 0.8301
    assert bpb["1.3B on CC-100"]["EuroParl"] == 2.7141


def test_the_mean_by_weight() -> None:
    small = PUBLISHED[0]
    total = sum(WEIGHTS[name] / 100 * small.bpb[name] for name in WEIGHTS)
    assert small.weighted == pytest.approx(total, rel=1e-3)
    assert small.weighted == pytest.approx(1.2255, abs=1e-4)
    # Larger models of a family need fewer bits.
    for family in (PUBLISHED[:4], PUBLISHED[4:8]):
        means = [published.weighted for published in family]
        assert means == sorted(means, reverse=True)
