from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.mixture import (
    Histogram,
    Mixture,
    Splits,
    below,
    check_shares,
    epochs_by_weight,
    places,
)
from barrow.errors import ConfigError


def test_places_are_even_and_independent() -> None:
    identity = np.arange(100_000, dtype=np.uint64)
    first, second = places(identity, 42, 1), places(identity, 42, 2)
    for where in (first, second, places(identity, 43, 1)):
        counts = np.bincount((where >> np.uint64(60)).astype(np.int64), minlength=16)
        assert counts.min() > 0.95 * 100_000 / 16
    assert abs(np.corrcoef(first.astype(np.float64), second.astype(np.float64))[0, 1]) < 0.02
    assert (first == places(identity, 42, 1)).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3000), st.floats(0, 1), st.integers(0, 1000))
def test_a_share_is_cut_off_by_bytes(num: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 1000, num)
    where = places(rng.integers(0, 1 << 63, num, np.uint64), seed, 1)
    histogram = Histogram()
    histogram.add(where[: num // 2], sizes[: num // 2])
    histogram.add(where[num // 2 :], sizes[num // 2 :])
    taken = sizes[below(where, histogram.threshold(share))].sum()
    assert abs(taken - share * sizes.sum()) <= 2 * sizes.max()


def test_all_or_nothing() -> None:
    histogram = Histogram()
    where = np.array([0, (1 << 64) - 1], np.uint64)
    histogram.add(where, np.array([1, 1]))
    assert below(where, histogram.threshold(1.0)).all()
    assert not below(where, histogram.threshold(0.0)).any()
    assert Histogram().threshold(0.5) == 0.0


def test_weights_become_epochs() -> None:
    epochs = epochs_by_weight(
        {"a": 50, "b": 50, "gone": 10}, {"a": 100.0, "b": 300.0}, Mixture(by="weight")
    )
    assert epochs == {"a": 2.0, "b": pytest.approx(2 / 3)}
    half = epochs_by_weight({"a": 1, "b": 1}, {"a": 100.0, "b": 300.0}, Mixture(size=100))
    assert half == {"a": 0.5, "b": pytest.approx(1 / 6)}


@pytest.mark.parametrize(
    ("weights", "sizes", "words"),
    [
        ({"a": 1.0}, {"a": 10.0, "b": 10.0}, "b has no weight"),
        ({"a": 1.0, "b": 1.0}, {"a": 10.0, "b": 0.0}, "no text of it is left"),
        ({"a": 9.0, "b": 1.0}, {"a": 10.0, "b": 990.0}, r"a would be repeated 90.0 times.*size=44"),
    ],
)
def test_what_cannot_be_met(weights: dict[str, float], sizes: dict[str, float], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        epochs_by_weight(weights, sizes, Mixture(by="weight"))


def test_shares_are_compared_with_the_weights() -> None:
    weights = {"a": 75.0, "b": 25.0, "gone": 9.0}
    check_shares(weights, {"a": 760.0, "b": 240.0}, 0.05)
    with pytest.raises(ConfigError, match=r"more than 5%.*: b has 23.70% for 25.00%; pass a larg"):
        check_shares(weights, {"a": 763.0, "b": 237.0}, 0.05)
    check_shares(weights, {"a": 763.0, "b": 237.0}, 0.06)
    with pytest.raises(ConfigError, match="a has 0.00%"):
        check_shares({"a": 1.0}, {"a": 0.0}, 0.05)


def test_bytes_below_a_threshold() -> None:
    rng = np.random.default_rng(0)
    sizes, where = rng.integers(1, 1000, 500), rng.integers(0, 1 << 63, 500, np.uint64) * 2
    histogram = Histogram()
    histogram.add(where, sizes)
    for share in (0.0, 0.3, 0.9, 1.0):
        threshold = histogram.threshold(share)
        assert histogram.below(threshold) == sizes[below(where, threshold)].sum()


@pytest.mark.parametrize("shares", [(0.5, 0.5), (-0.1, 0.0), (1.0, 0.0)])
def test_splits_leave_something(shares: tuple[float, float]) -> None:
    with pytest.raises(ConfigError):
        Splits(*shares)
