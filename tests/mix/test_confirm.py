"""The paired comparison of two mixtures by the user's objective (BEYOND-6)."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mix.planted_search import DESIGN, SIZES, planned, validation
from tests.score.scored_results import make_result

from barrow.mix.confirm import Verdict, confirm, read_verdict, verdict_file, weighted_change
from barrow.mix.search import Search
from barrow.score.paired_bootstrap import paired_bootstrap
from barrow.score.result import Result, write_result
from barrow.train.run import Run, token_settings


def made(num: int = 60, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(100, 2000, num)
    return rng.normal(-0.01, 0.03, num) * sizes, sizes, np.arange(num) % 2


def test_one_domain_is_the_paired_bootstrap_of_score_diff() -> None:
    differences, sizes, domain = made()
    found = weighted_change(differences, sizes, domain, np.array([0.0, 1.0]))
    own = domain == 1
    nats = np.stack([differences[own], np.zeros(own.sum())], axis=1)[..., None]
    low, high, _ = (part[0, 1, 0] for part in paired_bootstrap(nats, sizes[own, None]))
    assert found.difference == pytest.approx(
        differences[own].sum() / sizes[own].sum() / math.log(2)
    )
    assert found.low == pytest.approx(low / math.log(2), rel=0.05)
    assert found.high == pytest.approx(high / math.log(2), rel=0.1, abs=5e-4)
    assert found.low is not None
    assert (found.p < 0.05) == (found.low * (found.high or 0) > 0)


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


# Pairs --------------------------------------------------------------------------------------------

TEXTS = [(tuple(SIZES)[i % 4], f"text {i} " * (2 + i % 5)) for i in range(40)]
HARD = np.random.default_rng(0).normal(2, 0.2, 40)
RECOMMENDED = {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}
CURRENT = {"a": 0.7, "b": 0.1, "c": 0.1, "d": 0.1}
COUNTS = dict.fromkeys(SIZES, 0.25)


def scored(bits: np.ndarray) -> Result:
    return make_result("run", bits=bits.tolist(), texts=TEXTS)


@dataclass
class Trained:
    """Stands in for training and scoring: a run is better by `gains` of its seed."""

    gains: dict[int, float]
    runs: list[Run] = field(default_factory=list)

    def fit(self, run: Run, folder: Path) -> None:
        del folder
        self.runs.append(run)

    def score(self, model: Any, corpus: Any, *, out: Path, settings: dict[str, float]) -> None:
        del model, corpus
        run = self.runs[-1]
        is_recommended = token_settings(run.data).weights == RECOMMENDED
        gain = self.gains.get(run.seed, 0.0) if is_recommended else 0.0
        noise = np.random.default_rng(len(self.runs)).normal(0, 0.01, 40)
        write_result(out, replace(scored(HARD - gain + noise), settings=settings))

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Trained:
    made = Trained({})
    # `barrow.train.fit` is the function, too.
    monkeypatch.setattr(import_module("barrow.train.fit"), "fit", made.fit)
    monkeypatch.setattr("barrow.score.open_model", lambda path: path)
    monkeypatch.setattr("barrow.score.score", made.score)
    return made


@pytest.fixture
def search(tmp_path: Path) -> Search:
    made = planned(tmp_path)
    made.prepare(DESIGN, validation(*SIZES, card=scored(HARD).card.hash))
    return made


def confirmed(search: Search, *, seconds: float = math.inf) -> Verdict:
    return confirm(
        search,
        [],
        params=200_000,
        weights=RECOMMENDED,
        current=CURRENT,
        counts=COUNTS,
        seconds=seconds,
    )


def test_no_pair_has_the_seed_of_the_proxies(search: Search, trained: Trained) -> None:
    """The law was fitted on what the proxies' seed gave; that seed would confirm its accidents."""
    verdict = confirmed(search)
    assert verdict.seeds == (2, 3, 4)
    assert trained.seeds == [2, 2, 3, 3, 4, 4]
    assert DESIGN.seed == search.proxy(200_000).seed == 1
    for first, second in zip(trained.runs[::2], trained.runs[1::2], strict=True):
        data = [token_settings(run.data) for run in (first, second)]
        assert [one.weights for one in data] == [RECOMMENDED, CURRENT]
        assert data[0].seed == data[1].seed == first.seed
        assert replace(first, data=data[1]) == second


def test_three_pairs_where_they_take_no_longer_than_the_proxies(
    search: Search, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 5))  # each run takes 5 seconds
    monkeypatch.setattr("barrow.mix.confirm.time.perf_counter", lambda: float(next(clock)))
    assert confirmed(search, seconds=29.9).seeds == (2,)
    assert trained.seeds == [2, 2]
    # What is done is not done again.
    assert confirmed(search, seconds=30.0).seeds == (2, 3, 4)
    assert trained.seeds == [2, 2, 3, 3, 4, 4]
    assert confirmed(search, seconds=30.0) == read_verdict(search.folder)
    assert len(trained.runs) == 6


@pytest.mark.parametrize(
    ("gains", "answer"),
    [
        ((0.1, 0.12, 0.08), "yes"),
        ((-0.1, -0.12, -0.08), "no"),
        ((0.3, 0.12, -0.02), "not shown"),
    ],
)
def test_the_answer_is_that_of_all_pairs(
    gains: tuple[float, ...], answer: str, search: Search, trained: Trained
) -> None:
    trained.gains = dict(zip((2, 3, 4), gains, strict=True))
    verdict = confirmed(search)
    assert verdict.answer == answer
    assert verdict.differences == pytest.approx([-gain for gain in gains], abs=0.01)
    assert verdict.objective.difference == pytest.approx(np.mean(verdict.differences))
    for change in verdict.domains.values():
        assert change.difference == pytest.approx(-np.mean(gains), abs=0.02)


def test_a_search_of_an_earlier_version_has_one_pair(search: Search, trained: Trained) -> None:
    """Its verdict has no seeds, its scores no time, and its folders are found."""
    confirmed(search, seconds=0)
    for file in search.folder.glob("confirmation/*/scores.json"):
        data = json.loads(file.read_text())
        file.write_text(json.dumps({**data, "settings": {}}))
    folders = [file.parent.name for file in search.folder.glob("confirmation/*/scores.json")]
    assert [bool(re.fullmatch("200k-[0-9a-f]{12}", name)) for name in folders] == [True, True]
    file = verdict_file(search.folder)
    old = json.loads(file.read_text())
    del old["seeds"], old["differences"]
    file.write_text(json.dumps(old))
    found = read_verdict(search.folder)
    assert found is not None
    assert (found.seeds, found.differences) == ((), ())
    trained.runs.clear()
    assert replace(confirmed(search), seeds=(), differences=()) == found
    assert trained.runs == []
