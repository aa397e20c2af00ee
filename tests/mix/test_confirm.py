"""The paired comparison of two mixtures by the user's objective (BEYOND-6)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from barrow.mix.confirm import weighted_change
from barrow.score.paired_bootstrap import paired_bootstrap


def made(num: int = 60, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(100, 2000, num)
    return rng.normal(-0.01, 0.03, num) * sizes, sizes, np.arange(num) % 2


def test_one_domain_is_the_paired_bootstrap_of_score_diff() -> None:
    differences, sizes, domain = made()
    found = weighted_change(differences, sizes, domain, np.array([0.0, 1.0]))
    own = domain == 1
    (spread,) = paired_bootstrap(differences[own, None], sizes[own, None])
    assert spread is not None
    assert found.difference == pytest.approx(
        differences[own].sum() / sizes[own].sum() / math.log(2)
    )
    assert found.low == pytest.approx(spread.low / math.log(2), rel=0.05)
    assert found.high == pytest.approx(spread.high / math.log(2), rel=0.1, abs=5e-4)
    assert found.p == pytest.approx(spread.p, rel=0.4)


def test_domains_count_by_their_weights_not_their_bytes() -> None:
    differences, sizes, domain = made()
    sizes = np.where(domain == 1, 10 * sizes, sizes)
    counts = np.array([0.3, 0.7])
    found = weighted_change(differences, sizes, domain, counts)
    means = [differences[domain == d].sum() / sizes[domain == d].sum() for d in (0, 1)]
    assert found.difference == pytest.approx(counts @ means / math.log(2))


def test_intervals_cover_the_truth() -> None:
    """The true difference is −0.01 nats per byte in both domains."""
    inside = 0
    for seed in range(100):
        found = weighted_change(*made(seed=seed), np.array([0.5, 0.5]), resamples=400)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= -0.01 / math.log(2) <= found.high
    assert 85 <= inside <= 99
