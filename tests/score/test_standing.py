"""Which of several results is better: pairs, corrections and ranks (PILE-10, BEYOND-8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.score.scored_results import make_result

from barrow.score.card import Window
from barrow.score.diff import compare
from barrow.score.paired_bootstrap import holm
from barrow.score.result import Result
from barrow.score.standing import Standing, places, standings

RNG = np.random.default_rng(0)
TEXTS = [(("code", "prose")[i % 2], f"text {i} " * (1 + i % 7)) for i in range(60)]
BASE = RNG.normal(2, 0.3, 60)


def scored(name: str, worse: float, noise: float = 0.05, **options: object) -> Result:
    """A result that is worse than others by so many bits per byte, with noise of its own."""
    rng = np.random.default_rng(list(name.encode()))
    bits = (BASE + worse + noise * rng.standard_normal(60)).tolist()
    return make_result(name, bits=bits, texts=TEXTS, **options)  # type: ignore[arg-type]


def test_each_pair_is_that_of_compare_and_corrected() -> None:
    """The figures of a pair do not depend on who else is there; p is, by Holm."""
    results = [scored("a", 0.0), scored("b", 0.01), scored("c", 0.03), scored("d", 0.2)]
    found = standings(results, resamples=500)
    assert set(found) == {None, "code", "prose"}
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for name, standing in found.items():
        raw = []
        for i, j in pairs:
            compared = compare(results[i], results[j], resamples=500)
            rows = {None: compared.overall, **{row.name: row for row in compared.domains}}
            row = rows[name]
            assert standing.difference[i, j] == pytest.approx(row.difference)
            assert standing.difference[j, i] == -standing.difference[i, j]
            assert standing.low[i, j] == pytest.approx(row.low)
            assert standing.high[j, i] == pytest.approx(-(row.low or 0))
            raw.append(row.p)
        expected = holm(np.array(raw, float))
        np.testing.assert_allclose([standing.p[pair] for pair in pairs], expected)
        assert (expected > np.array(raw)).any()
        np.testing.assert_array_equal(standing.p, standing.p.T)


def test_what_cannot_be_paired_is_left_open_and_no_test() -> None:
    window = Window(1024, 512, "begin")
    a, b = scored("a", 0.0, window=window), scored("b", 0.3, window=window)
    others = [
        replace(scored("without documents", 0.9), documents=None),
        scored("other windows", 0.9, window=replace(window, stride=1024)),
        scored("whole:xz", 0.9, likelihood="compressed", scope="domain"),
        make_result("other text", bits=[9.0] * 12),
    ]
    standing = standings([a, b, *others])[None]
    assert np.isnan(standing.p[:2, 2:]).all()
    assert standing.p[0, 1] == standings([a, b])[None].p[0, 1]
    assert places(standing, range(6))[:3] == [(1, 5), (2, 6), (1, 6)]
    # A compressor that sees each document whole is paired with all, whatever their windows.
    xz = scored("xz", 0.5, likelihood="compressed")
    assert standings([a, xz])[None].is_better().tolist() == [[False, True], [False, False]]


def standing_of(decided: dict[tuple[int, int], float], bits: list[float]) -> Standing:
    difference = np.subtract.outer(bits, bits)
    p = np.ones_like(difference)
    for (i, j), value in decided.items():
        p[i, j] = p[j, i] = value
    return Standing(difference, difference, difference, p)


def test_ranks_tie_where_nothing_is_decided() -> None:
    """1 and 2, and 2 and 3, are open; 1 is better than 3."""
    standing = standing_of({(0, 2): 0.01}, [1.0, 1.1, 1.2])
    assert places(standing, range(3)) == [(1, 2), (1, 3), (2, 3)]
    assert places(standing, [0, 2]) == [(1, 1), (2, 2)]
    assert places(standing_of({(0, 2): 0.051}, [1.0, 1.1, 1.2]), range(3)) == [(1, 3)] * 3


def test_better_than_a_better_one() -> None:
    """The larger difference may have the larger spread; two decisions imply the third."""
    standing = standing_of({(0, 1): 0.01, (1, 2): 0.01}, [1.0, 1.1, 1.2])
    assert places(standing, range(3)) == [(1, 1), (2, 2), (3, 3)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12),
    st.permutations(range(10)),
)
def test_ranks_are_consistent(pairs: list[tuple[int, int]], order: list[int]) -> None:
    """No circles: each rank holds the order of the bits, and ranks follow every decision."""
    bits = [float(k) for k in order]
    standing = standing_of({(i, j): 0.0 for i, j in pairs if i != j}, bits)
    better = standing.is_better()
    assert not (better & better.T).any()
    ranks = places(standing, range(10))
    for k, (first, last) in enumerate(ranks):
        assert first <= order[k] + 1 <= last
    for i, j in zip(*np.nonzero(better), strict=True):
        assert ranks[i][0] < ranks[j][0]
        assert ranks[i][1] < ranks[j][1]


def false_decisions(rounds: int, models: int, num: int, resamples: int) -> int:
    """In how many rounds any of some equally good models is called better."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(rounds):
        sizes = np.exp(rng.normal(7, 1, num)).astype(int)
        texts = [("prose", f"{i}" + "x" * size) for i, size in enumerate(sizes.tolist())]
        hard = rng.normal(2, 0.4, num)
        results = [
            make_result(str(k), bits=(hard + 0.1 * rng.standard_normal(num)).tolist(), texts=texts)
            for k in range(models)
        ]
        wrong += bool(standings(results, resamples=resamples)[None].is_better().any())
    return wrong


def test_equal_models_are_rarely_called_different() -> None:
    """5 % is the limit, whose 99 % quantile is 8 of 60."""
    assert false_decisions(60, models=4, num=30, resamples=200) <= 6


@pytest.mark.soak
@pytest.mark.parametrize(("models", "num"), [(2, 8), (2, 200), (6, 15), (20, 60)])
def test_equal_models_are_called_different_in_5_of_100_cases_at_most(models: int, num: int) -> None:
    rounds = 200
    assert false_decisions(rounds, models, num, resamples=400) <= 0.05 * rounds + 6
