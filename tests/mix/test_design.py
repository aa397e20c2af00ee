"""Which mixtures are tried (BEYOND-6)."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.mix import propose

PRIOR = np.array([0.5, 0.3, 0.15, 0.05])


def test_each_domain_is_seen_high_low_and_at_zero() -> None:
    weights = propose(PRIOR, 24, ceilings=np.ones(4), seed=0)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert np.all(weights >= 0)
    assert np.all((weights == 0).sum(axis=0) >= 2)
    assert np.all(weights.max(axis=0) > 2 * PRIOR.clip(max=0.35))
    assert np.all(((weights > 0) & (weights < PRIOR / 2)).sum(axis=0) >= 2)
    # All 24 differ by something that a run would notice.
    apart = np.abs(weights[:, None] - weights[None]).sum(axis=-1) + np.eye(24)
    assert apart.min() > 0.01


def test_a_seed_proposes_the_same() -> None:
    first, again, other = (propose(PRIOR, 8, ceilings=np.ones(4), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1


def test_no_weight_is_above_its_ceiling() -> None:
    ceilings = np.array([0.6, 0.4, 0.1, 0.05])
    weights = propose(PRIOR, 40, ceilings=ceilings, seed=3)
    assert np.all(weights <= ceilings + 1e-9)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights.max(axis=0) == pytest.approx(ceilings, abs=0.02)
