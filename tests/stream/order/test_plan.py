"""Stretches: where domains drop out, where phases begin, where the stream ends."""

from __future__ import annotations

import pytest

from barrow.errors import ConfigError
from barrow.stream.order.mixture import quantised
from barrow.stream.order.order import Order
from barrow.stream.order.plan import Plan
from barrow.stream.order.schedule import Mixture, Phase, Schedule, constant

SIZES = {"a": 800, "b": 400, "c": 80}  # 100, 50 and 10 rows of 8


def plan(*phases: Phase, seed: int = 0) -> Plan:
    return Order(seed, Schedule(phases), SIZES).plan


def weights(plan: Plan) -> list[tuple[int, ...] | None]:
    return [s.interleaving.weights if s.interleaving else None for s in plan.stretches]


def test_weights_without_a_cap_never_end() -> None:
    endless = plan(Phase(0, 8, 4, Mixture(weights={"a": 3, "b": 1})))
    assert endless.num_steps is None
    assert weights(endless) == [quantised([3, 1, 0])]


def test_a_capped_domain_drops_out_and_the_others_keep_their_proportions() -> None:
    mixture = Mixture(weights={"a": 2, "b": 1, "c": 1}, max_epochs={"c": 2.0, "b": 1.0})
    capped = plan(Phase(0, 8, 4, mixture))
    assert weights(capped) == [quantised([2, 1, 1]), quantised([2, 1, 0]), quantised([1, 0, 0])]
    first, second, third = capped.stretches
    assert second.taken[2] == third.taken[2] == 20
    assert third.taken[1] == 50
    # It drops out with the very sample that is its last, about its 20th of every fourth.
    assert first.rows_before(second.first - 1)[2] == 19
    assert abs(second.first - 80) <= 8
    assert capped.num_steps is None


def test_epochs_end_together() -> None:
    mixture = Mixture(epochs={"a": 1, "b": 2, "c": 3.5})
    ended = plan(Phase(0, 8, 4, mixture))
    assert ended.num_steps == -(-(100 + 100 + 35) // 4)
    assert ended.stretches[-1].taken == (100, 100, 35)
    assert ended.stretches[-1].first == 235
    assert ended.stretches[1].first > 235 - 10  # nobody drops out before the last few rows
    assert weights(ended)[0] == quantised([100, 100, 35])


@pytest.mark.parametrize(("tokens", "rows"), [(1, 1), (8, 1), (9, 2), (80, 10), (800 * 3, 300)])
def test_tokens_are_reached_by_whole_rows(tokens: int, rows: int) -> None:
    ended = plan(Phase(0, 8, 4, Mixture(tokens={"a": tokens})))
    assert ended.stretches[-1].taken == (rows, 0, 0)
    assert ended.num_steps == -(-rows // 4)


@pytest.mark.parametrize(
    ("epochs", "rows"), [(0.1, 10), (0.3, 30), (1.1, 110), (0.105, 11), (2.7, 270), (1e-9, 1)]
)
def test_parts_of_an_epoch_are_taken_by_their_decimals(epochs: float, rows: int) -> None:
    ended = plan(Phase(0, 8, 4, Mixture(epochs={"a": epochs})))
    assert ended.stretches[-1].taken == (rows, 0, 0)


def test_the_smaller_of_epochs_and_cap_holds() -> None:
    mixture = Mixture(epochs={"a": 3, "b": 1}, max_epochs=2.0)
    assert plan(Phase(0, 8, 4, mixture)).stretches[-1].taken == (200, 50, 0)


def test_epochs_and_caps_count_from_the_beginning_of_the_run() -> None:
    twice = Mixture(epochs={"a": 2, "b": 2})
    ended = plan(Phase(0, 8, 4, Mixture(weights={"a": 1})), Phase(30, 8, 4, twice))
    assert ended.stretches[-1].taken == (200, 100, 0)
    assert weights(ended)[1] == quantised([80, 100, 0])  # 120 rows of a were read before
    capped = Mixture(weights={"a": 1, "b": 1}, max_epochs=1.0)
    ended = plan(Phase(0, 8, 4, Mixture(weights={"a": 1})), Phase(20, 8, 4, capped))
    assert ended.stretches[-1].taken == (100, 50, 0)
    over = plan(Phase(0, 8, 4, Mixture(weights={"a": 1})), Phase(30, 8, 4, capped))
    assert over.stretches[-1].taken == (120, 50, 0)


def test_a_phase_of_another_batch_only_goes_on() -> None:
    for mixture in (Mixture(weights={"a": 2, "b": 1}), Mixture(epochs={"a": 1, "b": 1, "c": 2})):
        one = plan(Phase(0, 8, 4, mixture), Phase(5, 8, 8, mixture))
        first, second = one.stretches[:2]
        assert second.interleaving is first.interleaving
        assert second.origin == second.first == 20


def test_the_interleaving_goes_on_where_only_the_length_changes() -> None:
    mixture = Mixture(weights={"a": 2, "b": 1})
    first, second = plan(Phase(0, 8, 4, mixture), Phase(5, 4, 4, mixture)).stretches
    assert second.interleaving is first.interleaving


def test_a_phase_may_begin_where_all_has_been_read() -> None:
    once = Phase(0, 8, 4, Mixture(epochs={"c": 1}))  # 10 rows: 3 steps, the last with 2
    assert plan(once).num_steps == 3
    more = plan(once, Phase(3, 8, 4, Mixture(epochs={"c": 2})))
    assert more.num_steps == 6
    assert [s.first for s in more.stretches] == [0, 10, 12, 22]
    assert more.stretches[-1].taken == (0, 0, 20)


def test_an_endless_phase_after_an_end_is_endless() -> None:
    once = Phase(0, 8, 4, Mixture(epochs={"c": 1}))
    more = plan(once, Phase(3, 8, 4, Mixture(weights={"a": 1, "b": 1})))
    assert more.num_steps is None
    # Padding before it changes nothing of the order that follows.
    whole = Phase(0, 8, 5, Mixture(epochs={"c": 1}))
    unpadded = plan(whole, Phase(2, 8, 4, Mixture(weights={"a": 1, "b": 1})))
    assert more.stretches[-1].interleaving == unpadded.stretches[-1].interleaving


def test_a_phase_that_would_begin_after_the_end() -> None:
    once = Phase(0, 8, 4, Mixture(epochs={"c": 1}))
    message = "starts at step 4, but the mixture before it ends after 3 steps: .* 3 or"
    with pytest.raises(ConfigError, match=message):
        plan(once, Phase(4, 8, 4, Mixture(epochs={"c": 2})))


def test_the_end_may_fall_on_the_beginning_of_a_phase() -> None:
    first = Phase(0, 8, 5, Mixture(epochs={"c": 1}))
    more = plan(first, Phase(2, 8, 5, Mixture(weights={"a": 1})))
    assert [s.first for s in more.stretches] == [0, 10]
    assert more.num_steps is None


def test_a_mixture_with_nothing_left_ends_at_once() -> None:
    first = Phase(0, 8, 5, Mixture(epochs={"c": 1}))
    assert plan(first, Phase(2, 8, 5, Mixture(epochs={"c": 1}, max_epochs=1.0))).num_steps == 2


def test_every_phase_is_checked_against_the_domains() -> None:
    with pytest.raises(ConfigError, match="names 'd'"):
        plan(Phase(0, 8, 4, Mixture(weights={"a": 1})), Phase(9, 8, 4, Mixture(weights={"d": 1})))


def test_a_sample_is_found_from_its_row() -> None:
    schedule = constant(seq_len=8, batch=4, mixture=Mixture(epochs={"a": 1, "b": 1, "c": 4}))
    compiled = Order(3, schedule, SIZES).plan
    for stretch, following in zip(compiled.stretches, compiled.stretches[1:], strict=False):
        for sample in range(stretch.first, following.first):
            before, after = stretch.rows_before(sample), stretch.rows_before(sample + 1)
            (domain,) = [d for d in range(3) if before[d] != after[d]]
            assert stretch.sample(domain, before[domain]) == sample
