"""A search is a folder: planned, resumed, asked again, reused (BEYOND-6)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mix.planted_search import DESIGN, SIZES, Planted, planned, validation

from barrow.errors import ConfigError, NotFound
from barrow.mix import read_mixture, read_runs
from barrow.mix.find import read_found
from barrow.mix.plan import Design, Question, read_plan, size_label
from barrow.mix.proxies import Proxies, proxy_config, proxy_run, read_proxies
from barrow.mix.search import Search
from barrow.nn.module import num_params


@pytest.fixture
def law(monkeypatch: pytest.MonkeyPatch) -> Planted:
    return Planted(monkeypatch)


@pytest.fixture
def done(law: Planted, tmp_path: Path) -> Search:
    """A search whose runs are done."""
    search = planned(tmp_path / "search")
    search.prepare(DESIGN, validation(*SIZES))
    search.train()
    return search


def test_a_search_finds_the_planted_optimum(done: Search, law: Planted) -> None:
    fitted, given = done.answer(Question())
    assert given.is_supported
    # The best of many random mixtures within the bounds, by the true law.
    true = law.law
    rng = np.random.default_rng(0)
    _, ceilings = done.plan.bounds()
    drawn = rng.dirichlet(np.ones(4), 20_000)
    drawn = drawn[(drawn <= ceilings).all(axis=1)]
    padded = np.concatenate([np.vstack([given.weights, drawn]), np.zeros((len(drawn) + 1, 2))], 1)
    mean = true.predict(padded)[0][:, :4].mean(axis=1)
    assert mean[0] < np.quantile(mean[1:], 0.001)
    assert fitted.scored == tuple(SIZES)
    assert read_mixture(done.folder) == pytest.approx(
        dict(zip(SIZES, given.weights.tolist(), strict=True)), abs=1e-6
    )
    # Found again, they are the same to the bit, so that a confirmation is not done again.
    weights = read_found(done.folder).mixture["weights"]
    assert {name: round(weight, 6) for name, weight in weights.items()} == weights
    found = read_found(done.folder)
    against = found.mixture["expected"]["uniform"]["objective"]
    assert against[1] <= against[0] <= against[2]
    assert set(found.mixture["expected"]) == {"current", "by size", "uniform"}


def test_the_runs_are_a_table_that_fit_reads(done: Search) -> None:
    made = done.runs()
    assert len(made.names) == 12
    again = read_runs([done.folder])
    np.testing.assert_array_equal(again.losses, made.losses)
    results = done.results()
    for name, row in zip(made.names, made.losses, strict=True):
        assert list(results[name]["losses"].values()) == pytest.approx(row.tolist(), abs=1e-6)


def test_no_mixture_asks_for_more_epochs_than_allowed(done: Search) -> None:
    plan = done.plan
    assert plan.budget == sum(SIZES.values()) == 8_500_000
    for run in plan.runs:
        for name, weight in run.weights.items():
            assert weight * plan.budget <= 4.0001 * SIZES[name]
    # Proxies that read more than the budget count.
    large = replace(plan, design=replace(DESIGN, proxies=(Proxies(1, 10**6),)))
    assert large.budget == 20_000_000


def test_what_is_done_is_not_done_again(done: Search, law: Planted) -> None:
    assert law.groups == [8, 4]
    before = read_plan(done.folder)
    done.prepare(DESIGN, validation(*SIZES))
    done.train()
    assert law.groups == [8, 4]
    assert read_plan(done.folder) == before
    # Another target costs no run.
    _, given = done.answer(Question(target={"a": 1.0}))
    assert given.weights[0] > 0.6
    # More proxies are added to those that are there.
    done.prepare(replace(DESIGN, proxies=(Proxies(14, 200_000),)), validation(*SIZES))
    done.train()
    assert law.groups == [8, 4, 2]
    assert read_plan(done.folder).runs[:12] == before.runs


def test_an_interrupted_search_keeps_the_groups_that_are_done(
    law: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = planned(tmp_path)
    search.prepare(DESIGN, validation(*SIZES))
    train = law.train

    def stopped(swarm: Any, folder: Path) -> Any:
        if law.groups:
            raise KeyboardInterrupt
        return train(swarm, folder)

    monkeypatch.setattr("barrow.mix.search.train_swarm", stopped)
    with pytest.raises(KeyboardInterrupt):
        search.train()
    monkeypatch.setattr("barrow.mix.search.train_swarm", train)
    search.train()
    assert law.groups == [8, 4]
    assert len(search.runs().names) == 12


def test_a_seed_plans_the_same_runs(tmp_path: Path) -> None:
    plans = []
    for number, seed in enumerate((1, 1, 2)):
        search = planned(tmp_path / str(number))
        search.prepare(replace(DESIGN, seed=seed), validation(*SIZES))
        plans.append(search.plan.runs)
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


def test_a_run_that_diverged_is_left_out(law: Planted, tmp_path: Path) -> None:
    law.diverge = (2,)
    said: list[str] = []
    search = planned(tmp_path)
    search.say = said.append
    search.prepare(DESIGN, validation(*SIZES))
    search.train()
    assert [line for line in said if "diverged" in line] == [
        "200k-002 diverged and is left out: planted",
        "200k-010 diverged and is left out: planted",
    ]
    assert len(search.runs().names) == 10


def test_bounds_are_kept(done: Search) -> None:
    _, given = done.answer(Question(floors={"d": 0.2}, ceilings={"a": 0.1}))
    assert given.weights[3] >= 0.2 - 1e-9
    assert given.weights[0] <= 0.1 + 1e-9


def test_an_answer_may_be_no_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Losses that are only noise support nothing."""
    law = Planted(monkeypatch, noise=0.3)
    law.law = replace(law.law, theta=np.where(np.arange(9) < 3, law.law.theta, 0.0))
    search = planned(tmp_path)
    search.prepare(DESIGN, validation(*SIZES))
    search.train()
    _, given = search.answer(Question())
    assert not given.is_supported
    np.testing.assert_allclose(given.weights, search.plan.by_size())


# Reuse -------------------------------------------------------------------------------------------


def test_another_target_or_domain_reuses_runs_and_says_why(
    done: Search, law: Planted, tmp_path: Path
) -> None:
    law.groups.clear()
    said: list[str] = []
    # A new domain, a small takedown in "a", validation text of the new domain.
    search = planned(tmp_path / "more", SIZES | {"a": 4_900_000, "e": 700_000}, identity="2" * 64)
    search.say = said.append
    law.scored = (*SIZES, "e")
    design = replace(DESIGN, proxies=(Proxies(16, 200_000),))
    search.prepare(design, validation(*SIZES, "e", card="b" * 12), reuse=[done.folder])
    words = "12 runs are reused, scored again on the new validation text; 0 are not valid"
    assert said == [f"{done.folder}: {words}"]
    reused = [run for run in search.plan.runs if run.reused]
    assert {run.reused for run in reused} >= {
        "domains changed little: a -2.0%; without e, which is new"
    }
    # Each is scored with its own parameters.
    results = search.results()
    for run in reused:
        weights = np.array([[run.weights.get(name, 0.0) for name in law.law.domains]])
        expected = law.law.predict(weights)[0, 0, :5]
        assert list(results[run.name]["losses"].values()) == pytest.approx(expected, abs=0.01)
    search.train()
    assert law.groups == [4]
    assert search.runs().scored == (*SIZES, "e")
    assert len(search.runs().names) == 16
    search.answer(Question())


def test_runs_that_read_what_is_gone_are_not_reused(done: Search, tmp_path: Path) -> None:
    other = planned(tmp_path / "less", {"a": 5_000_000, "b": 1_000_000, "c": 1_000_000})
    other.store.identity = "3" * 64  # type: ignore[misc]
    other.prepare(DESIGN, validation("a", "b", "c", "d"), reuse=[done.folder])
    reasons = set(other.plan.left_out.values())
    assert "it read d, which the store does not have" in reasons
    assert "it read b, whose tokens changed by -50%" in reasons
    valid = [run for run in done.plan.runs if not {"b", "d"} & set(run.weights)]
    assert len([run for run in other.plan.runs if run.reused]) == len(valid)


def test_runs_of_another_tokenizer_or_length_are_not_reused(done: Search, tmp_path: Path) -> None:
    other = planned(tmp_path / "other")
    other.prepare(replace(DESIGN, tokens_per_param=5), validation(*SIZES), reuse=[done.folder])
    assert set(other.plan.left_out.values()) == {"tokens_per_param was 20, not 5"}
    third = planned(tmp_path / "third")
    third.store.tokenizer_hash = "4" * 64  # type: ignore[misc]
    third.prepare(DESIGN, validation(*SIZES), reuse=[done.folder])
    assert set(third.plan.left_out.values()) == {"the tokenizer differs"}


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "design", "message"),
    [
        ({"a": 10**6}, DESIGN, "a mixture needs ≥ 2 domains, got 1: a"),
        (SIZES | {"e": 200}, DESIGN, r"e has 200 tokens, too few for any proxy: 4 times that"),
        (SIZES, replace(DESIGN, proxies=(Proxies(6, 10**5),)), "of 4 domains needs 7 runs, got 6"),
        (SIZES, replace(DESIGN, budget=10**9), "ceilings must sum to ≥ 1"),
        (SIZES, replace(DESIGN, prior={"x": 1.0}), "the mixture names 'x'; there are a, b, c, d"),
    ],
)
def test_designs_that_cannot_work(
    tmp_path: Path, sizes: dict[str, int], design: Design, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        planned(tmp_path, sizes).prepare(design, validation(*sizes))
    assert not (tmp_path / "search.json").exists()


def test_infeasible_floors_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="d: the floor is 0.5, but at most 0.2353 is possible"):
        planned(tmp_path).prepare(DESIGN, validation(*SIZES), question=Question(floors={"d": 0.5}))
    with pytest.raises(ConfigError, match=r"floors must sum to ≤ 1, got 1.1 \(a=0.9, b=0.2\)"):
        planned(tmp_path).prepare(
            DESIGN, validation(*SIZES), question=Question(floors={"a": 0.9, "b": 0.2})
        )


def test_a_target_without_validation_text(done: Search) -> None:
    with pytest.raises(ConfigError, match="target 'z' has no validation text; there are a, b"):
        done.answer(Question(target={"z": 1.0}))


def test_a_folder_of_another_store_or_design(done: Search) -> None:
    other = planned(done.folder, identity="5" * 64)
    with pytest.raises(ConfigError, match="is a search on another store .* and --reuse"):
        other.prepare(DESIGN, validation(*SIZES))
    with pytest.raises(ConfigError, match="scored on other validation text"):
        done.prepare(DESIGN, validation(*SIZES, card="c" * 12))
    with pytest.raises(ConfigError, match="has runs with seed=1, got 2"):
        done.prepare(replace(DESIGN, seed=2), validation(*SIZES))
    with pytest.raises(NotFound, match="not a search"):
        read_plan(done.folder / "runs")
    with pytest.raises(NotFound, match="no recommendation yet"):
        read_found(done.folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"weights": {"a": 0.5, "b": 0.47}}', "weights must sum to 1, got 0.97"),
        ('{"a": 0.5, "b": -0.5}', "must be ≥ 0"),
        ('{"a": "x"}', "the weight of 'a' must be a number, got 'x'"),
        ('{"a": NaN}', "must be finite"),
        ("[]", "expected"),
        ("{", "is not JSON"),
    ],
)
def test_mixtures_that_are_none(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "mixture.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_mixture(file)
    with pytest.raises(NotFound, match="no such file"):
        read_mixture(tmp_path / "none.json")


def test_small_errors_of_a_sum_are_scaled_away(tmp_path: Path) -> None:
    file = tmp_path / "mixture.json"
    file.write_text(json.dumps({"a": 0.5, "b": 0.49}))
    assert read_mixture(file) == pytest.approx({"a": 0.5 / 0.99, "b": 0.49 / 0.99})


# Proxies -----------------------------------------------------------------------------------------


def test_sizes_are_read_and_written() -> None:
    assert read_proxies("8x30M, 68x2M") == (Proxies(68, 2_000_000), Proxies(8, 30_000_000))
    assert [size_label(n) for n in (500, 1200, 2_000_000, 3 * 10**9)] == ["500", "1.2k", "2M", "3B"]
    for text in ("68", "x2M", "0x2M", "2x0M", "4x2M,8x2M", ""):
        with pytest.raises(ConfigError):
            read_proxies(text)


@pytest.mark.parametrize("params", [100_000, 2_000_000, 30_000_000, 120_000_000])
def test_a_proxy_has_about_the_parameters_it_is_named_by(params: int) -> None:
    import jax

    config = proxy_config(params, vocab_size=500, context=64)
    model = config.module()
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *config.example))
    inner = num_params(shapes) - 500 * config.width
    assert inner == pytest.approx(params, rel=0.2)
    run = proxy_run(config, 20 * params)
    assert run.steps * run.batches[0] * 64 == pytest.approx(20 * params, rel=0.01)
