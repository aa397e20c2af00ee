"""The order as a whole, beside a plain loop (ACCELERATE-8, DEEPSPEED-14)."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import few
from tests.stream.slow_order import SlowDomain

from barrow.errors import ConfigError
from barrow.stream.order.order import Order, Rows
from barrow.stream.order.schedule import Mixture, Phase, Schedule, constant

NAMES = ("a", "b", "c")
CHUNK = 8


def tuples(rows: Rows) -> list[tuple[int, int, int, int]]:
    parts = (rows.domain, rows.epoch, rows.start, rows.length)
    return list(zip(*(part.tolist() for part in parts), strict=True))


def steps_of(order: Order, most: int = 60) -> range:
    return range(most if order.num_steps is None else min(most, order.num_steps))


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    kind = draw(st.sampled_from(["weights", "epochs", "tokens"]))
    amounts = {
        "weights": st.floats(0, 1).map(lambda x: round(x, 2)),
        "epochs": st.floats(0, 3).map(lambda x: round(x, 1)),
        "tokens": st.integers(0, 300),
    }[kind]
    named = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    values = {name: draw(amounts) for name in named}
    assume(any(values.values()))
    cap = draw(st.none() | st.sampled_from([0.5, 1.0, 2.0]) | st.just({named[0]: 1.5}))
    return Mixture(**{kind: values}, max_epochs=cap)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    phases, start = [], 0
    for _ in range(draw(st.integers(1, 4))):
        lengths = st.integers(1, CHUNK)
        batches = st.integers(1, 9) | st.integers(100, 300)
        phases.append(Phase(start, draw(lengths), draw(batches), draw(mixtures())))
        start += draw(st.integers(1, 12))
    return Schedule(tuple(phases), CHUNK)


def sizes_from(size: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, int]]:
    return st.tuples(size, size, size).map(lambda sizes: dict(zip(NAMES, sizes, strict=True)))


SIZES = sizes_from(st.integers(1, 150) | st.integers(CHUNK * 256, CHUNK * 300))


def order_of(seed: int, schedule: Schedule, sizes: dict[str, int]) -> Order:
    """The order, with the phases left out that would begin after the end."""
    while True:
        try:
            return Order(seed, schedule, sizes)
        except ConfigError:
            schedule = dataclasses.replace(schedule, phases=schedule.phases[:-1])


@few
@given(seed=st.integers(0, 1000), schedule=schedules(), sizes=SIZES)
def test_each_domain_is_read_as_the_loop_reads_it(
    seed: int, schedule: Schedule, sizes: dict[str, int]
) -> None:
    order = order_of(seed, schedule, sizes)
    slow = [SlowDomain(seed, name, sizes[name], CHUNK) for name in NAMES]
    tokens, taken = [0, 0, 0], [0, 0, 0]
    sample = 0
    for step in steps_of(order):
        phase = [phase for phase in order.schedule.phases if phase.start <= step][-1]
        for domain in slow:
            domain.set_piece(phase.seq_len)
        assert order.first_sample(step) == sample
        assert order.seq_len(step) == phase.seq_len
        assert order.batch(step) == phase.batch
        progress = order.progress(step)
        assert [progress[name].tokens for name in NAMES] == tokens
        assert [progress[name].rows for name in NAMES] == taken
        assert [progress[n].epochs for n in NAMES] == [
            t / sizes[n] for t, n in zip(tokens, NAMES, strict=True)
        ]
        rows = tuples(order.rows(step))
        assert len(rows) == phase.batch
        for domain, *span in rows:
            ends = limits(phase.mixture, sizes)
            live = [
                d
                for d, name in enumerate(NAMES)
                if phase.mixture.amounts.get(name) and tokens[d] < ends[d]
            ]
            if domain < 0:
                assert span == [0, 0, 0]
                assert not live
                continue
            assert domain in live
            assert tuple(span) == slow[domain].next_row()
            tokens[domain] += span[2]
            taken[domain] += 1
        sample += phase.batch
    if order.num_steps is not None and order.num_steps <= 60:
        progress = order.progress(order.num_steps)
        assert [progress[name].tokens for name in NAMES] == tokens


def limits(mixture: Mixture, sizes: dict[str, int]) -> list[float]:
    """Tokens at which each domain drops out."""
    out = []
    for name in NAMES:
        cap = mixture.cap(name)
        ends = [float("inf") if cap is None else cap * sizes[name]]
        amount = mixture.amounts.get(name, 0)
        if mixture.kind == "epochs":
            # Tenths of whole numbers, so that the sum is exact where the float is not.
            ends.append(round(amount * 10) * sizes[name] / 10)
        if mixture.kind == "tokens":
            ends.append(amount)
        out.append(min(ends))
    return out


@few
@given(
    seed=st.integers(0, 1000),
    schedule=schedules(),
    sizes=sizes_from(st.integers(1, 100) | st.integers(2000, 2600)),
    epochs=st.integers(1, 2),
)
def test_every_token_once_in_each_epoch(
    seed: int, schedule: Schedule, sizes: dict[str, int], epochs: int
) -> None:
    """The last phase reads all to the end of an epoch; those before were capped below it."""
    early = [
        dataclasses.replace(phase, mixture=dataclasses.replace(phase.mixture, max_epochs=1.0))
        for phase in schedule.phases[:-1]
    ]
    full = Mixture(epochs=dict.fromkeys(NAMES, epochs))
    phases = (*early, dataclasses.replace(schedule.phases[-1], mixture=full))
    try:
        order = Order(seed, Schedule(phases, CHUNK), sizes)
    except ConfigError:
        assume(False)
    assert order.num_steps is not None
    counts = [np.zeros((epochs, sizes[name]), np.int64) for name in NAMES]
    for step in range(order.num_steps):
        for domain, epoch, start, length in tuples(order.rows(step)):
            if domain >= 0:
                counts[domain][epoch, start : start + length] += 1
    assert all((count == 1).all() for count in counts)
    done = order.progress(order.num_steps)
    assert all(done[name].epochs == epochs for name in NAMES)


@few
@given(
    seed=st.integers(0, 1000),
    schedule=schedules(),
    sizes=SIZES,
    mixture=mixtures(),
    length=st.integers(1, CHUNK),
    batch=st.integers(1, 9),
    where=st.integers(1, 50),
)
def test_a_phase_changes_nothing_before_it(
    seed: int,
    schedule: Schedule,
    sizes: dict[str, int],
    mixture: Mixture,
    length: int,
    batch: int,
    where: int,
) -> None:
    """A later phase, put after any number of the phases that there are."""
    order = order_of(seed, schedule, sizes)
    start = where if order.num_steps is None else min(where, order.num_steps)
    assume(start > 0)
    kept = tuple(phase for phase in order.schedule.phases if phase.start < start)
    changed = Schedule((*kept, Phase(start, length, batch, mixture)), CHUNK)
    other = Order(seed, changed, sizes)
    for step in range(start):
        assert tuples(order.rows(step)) == tuples(other.rows(step))
    if order.num_steps is None or start < order.num_steps:
        assert order.progress(start) == other.progress(start)


@few
@given(seed=st.integers(0, 1000), schedule=schedules(), sizes=SIZES, data=st.data())
def test_slices_are_parts_of_the_whole(
    seed: int, schedule: Schedule, sizes: dict[str, int], data: st.DataObject
) -> None:
    order = order_of(seed, schedule, sizes)
    step = data.draw(st.sampled_from(steps_of(order)))
    last = data.draw(st.integers(0, order.batch(step)))
    first = data.draw(st.integers(0, last))
    assert tuples(order.rows(step, first, last)) == tuples(order.rows(step))[first:last]


@few
@given(seed=st.integers(0, 1000), schedule=schedules(), sizes=SIZES, data=st.data())
def test_where_tokens_were_seen(
    seed: int, schedule: Schedule, sizes: dict[str, int], data: st.DataObject
) -> None:
    """Sightings are what looking through all the rows finds."""
    order = order_of(seed, schedule, sizes)
    until = data.draw(st.integers(0, len(steps_of(order))))
    domain = data.draw(st.integers(0, 2))
    stop = data.draw(st.integers(0, sizes[NAMES[domain]]))
    start = data.draw(st.integers(max(0, stop - 40), stop))
    expected = []
    for step in range(until):
        for row, (d, epoch, first, length) in enumerate(tuples(order.rows(step))):
            low, high = max(first, start), min(first + length, stop)
            if d == domain and low < high:
                expected.append((step, row, low, high, epoch))
    found = order.seen(domain, start, stop, until_step=until)
    assert [dataclasses.astuple(sighting) for sighting in found] == expected


def test_the_first_rows_after_a_pause_are_found() -> None:
    """Nothing of "a" is read in the second phase; its next row is the first of the third."""
    phases = tuple(
        Phase(start, 4, 2, Mixture(weights={name: 1.0}))
        for start, name in ((0, "a"), (3, "b"), (5, "a"))
    )
    order = Order(0, Schedule(phases, CHUNK), {"a": 64, "b": 64})
    for domain in (0, 1):
        rows = [(s, r, row) for s in range(8) for r, row in enumerate(tuples(order.rows(s)))]
        expected = [(s, r, at, at + n, e) for s, r, (d, e, at, n) in rows if d == domain]
        found = order.seen(domain, 0, 64, until_step=8)
        assert [dataclasses.astuple(sighting) for sighting in found] == expected


def test_an_empty_part_of_a_step() -> None:
    order = Order(0, constant(seq_len=4, batch=3, mixture=Mixture(weights={"a": 1})), {"a": 64})
    for place in (0, 2, 3):
        assert tuples(order.rows(5, place, place)) == []


def test_seen_to_the_end_and_past_it() -> None:
    schedule = constant(seq_len=4, batch=4, mixture=Mixture(epochs={"a": 3}))
    order = Order(0, schedule, {"a": 30})
    found = order.seen(0, 5, 7, until_step=10**9)
    assert [sighting.epoch for sighting in found] == [0, 1, 2]


def test_seen_until_the_length_changes() -> None:
    mixture = Mixture(weights={"a": 1})
    phases = (Phase(0, 2, 3, mixture), Phase(4, 4, 3, mixture))
    order = Order(0, Schedule(phases), {"a": 8})
    # Three epochs of four rows of two tokens, and not a row more.
    found = order.seen(0, 0, 8, until_step=4)
    assert [sighting.epoch for sighting in found] == [0] * 4 + [1] * 4 + [2] * 4
    assert len(order.seen(0, 0, 8, until_step=5)) == 15


def test_the_order_of_samples_does_not_depend_on_the_batch() -> None:
    sizes = {"a": 3000, "b": 700, "c": 90}
    mixture = Mixture(weights={"a": 0.5, "b": 0.3, "c": 0.2}, max_epochs=3.0)
    schedules = [
        constant(seq_len=5, batch=8, mixture=mixture),
        constant(seq_len=5, batch=16, mixture=mixture),
        Schedule((Phase(0, 5, 3, mixture), Phase(7, 5, 31, mixture), Phase(9, 5, 1, mixture))),
    ]
    sequences = []
    for schedule in schedules:
        order = Order(5, schedule, sizes)
        assert order.num_steps is not None
        rows = [row for step in range(order.num_steps) for row in tuples(order.rows(step))]
        sequences.append([row for row in rows if row[0] >= 0])
    assert sequences[0] == sequences[1] == sequences[2]
    assert sum(length for *_, length in sequences[0]) == 3 * sum(sizes.values())


def test_a_changed_length_takes_up_where_it_was() -> None:
    """The same samples before and after, cut finer: rows of 8, then of 4, then of 8."""
    mixture = Mixture(epochs={"a": 1})
    phases = (Phase(0, 8, 2, mixture), Phase(3, 4, 2, mixture), Phase(6, 8, 2, mixture))
    order = Order(1, Schedule(phases), {"a": 100})
    assert order.num_steps is not None
    rows = [tuples(order.rows(step)) for step in range(order.num_steps)]
    assert [row[3] for step in rows[3:6] for row in step] == [4] * 6
    tokens = [t for step in rows for _, _, start, n in step for t in range(start, start + n)]
    assert sorted(tokens) == list(range(100))


def test_rows_of_a_batch_come_from_different_chunks() -> None:
    schedule = constant(seq_len=4, batch=64, mixture=Mixture(weights={"a": 1}), chunk=32)
    order = Order(0, schedule, {"a": 32 * 1000})
    for step in range(30):
        rows = order.rows(step)
        assert len(set((rows.start // 32).tolist())) == 64


def test_shares_in_any_1000_samples() -> None:
    """22 domains: every run of 1,000 samples has the shares, give or take less than 4 rows."""
    random = np.random.default_rng(0)
    names = [f"d{number}" for number in range(22)]
    weights = dict(zip(names, random.dirichlet(np.full(22, 0.7)).tolist(), strict=True))
    schedule = constant(seq_len=16, batch=500, mixture=Mixture(weights=weights))
    order = Order(2, schedule, dict.fromkeys(names, 10_000))
    domain = np.concatenate([order.rows(step).domain for step in range(20)])
    counts = np.cumsum(domain[:, None] == np.arange(22), axis=0)
    off = counts[1000:] - counts[:-1000] - 1000 * np.array(list(weights.values()))
    assert np.abs(off).max() < 4


def test_items_are_rows_of_their_own() -> None:
    schedule = constant(seq_len=128, batch=3, mixture=Mixture(epochs={"a": 2, "b": 1}))
    order = Order.of_items(4, schedule, {"a": 5, "b": 4})
    assert order.num_steps == 5
    assert order.seq_len(0) == 128
    rows = [row for step in range(5) for row in tuples(order.rows(step))]
    items = Counter((domain, start) for domain, _, start, _ in rows if domain >= 0)
    assert items == {**{(0, i): 2 for i in range(5)}, **{(1, i): 1 for i in range(4)}}
    assert {length for domain, *_, length in rows if domain >= 0} == {1}
    sightings = order.seen(0, 2, 3, until_step=5)
    assert [(s.start, s.stop, s.epoch) for s in sightings] == [(2, 3, 0), (2, 3, 1)]


def test_the_length_of_rows_is_nothing_to_items() -> None:
    mixture = Mixture(weights={"a": 2, "b": 1})
    phases = (Phase(0, 16, 3, mixture), Phase(4, 32, 3, mixture))
    changing = Order.of_items(0, Schedule(phases), {"a": 50, "b": 7})
    constantly = Order.of_items(0, Schedule(phases[:1]), {"a": 50, "b": 7})
    for step in range(40):
        assert tuples(changing.rows(step)) == tuples(constantly.rows(step))
    assert [changing.seq_len(step) for step in (3, 4)] == [16, 32]
    assert changing.plan.phases[0].windows is changing.plan.phases[1].windows


def test_items_have_no_tokens_to_count() -> None:
    schedule = constant(seq_len=128, batch=3, mixture=Mixture(tokens={"a": 2}))
    with pytest.raises(ConfigError, match="counts tokens, .* counts items; use weights or epochs"):
        Order.of_items(4, schedule, {"a": 5})


def test_rows_of_one_token() -> None:
    order = Order(0, constant(seq_len=1, batch=5, mixture=Mixture(epochs={"a": 1})), {"a": 12})
    assert order.num_steps == 3
    rows = [row for step in range(3) for row in tuples(order.rows(step))]
    assert sorted(start for domain, _, start, _ in rows if domain == 0) == list(range(12))
    assert rows[12:] == [(-1, 0, 0, 0)] * 3


def test_far_steps_are_exact() -> None:
    """Step 10^9 of a run over 10^12 tokens: what it saw is found back there."""
    sizes = {"a": 10**12 + 7, "b": 3 * 10**9 + 1}
    phases = (
        Phase(0, 512, 64, Mixture(weights={"a": 0.9, "b": 0.1})),
        Phase(123_457, 1024, 64, Mixture(weights={"a": 0.9, "b": 0.1})),
    )
    order = Order(1, Schedule(phases), sizes)
    step = 10**9
    rows = order.rows(step)
    for row in (0, 31, 63):
        domain, epoch, start, length = tuples(rows)[row]
        found = order.seen(domain, start, start + 1, until_step=step + 1)
        last = found[-1]
        assert (last.step, last.row, last.epoch) == (step, row, epoch)
        assert length == 1024
        assert [sighting.epoch for sighting in found] == list(range(epoch + 1))


def test_the_order_is_the_same_in_every_release() -> None:
    """Golden value: a release that changes it changes what everybody's run sees."""
    half = Mixture(weights={"a": 0.5, "b": 0.3, "é": 0.2}, max_epochs=2.0)
    once = Mixture(epochs={"a": 3.0, "b": 2.5})
    phases = (Phase(0, 16, 32, half), Phase(40, 24, 16, half), Phase(77, 32, 8, once))
    order = Order(11, Schedule(phases), {"a": 20_000, "b": 9_001, "é": 777})
    digest = hashlib.sha256()
    assert order.num_steps == 301
    for step in range(order.num_steps):
        rows = order.rows(step)
        for part in (rows.domain, rows.epoch, rows.start, rows.length):
            digest.update(part.astype("<i8").tobytes())
    assert digest.hexdigest() == "63541971a440e89ec4faeff6387d96b572e8c85bda034e4a91374b1859b3b7c1"


def test_seeds_and_another_domain() -> None:
    schedule = constant(seq_len=8, batch=16, mixture=Mixture(weights={"a": 1.0}))
    first = Order(0, schedule, {"a": 8000}).rows(0)
    assert not np.array_equal(first.start, Order(1, schedule, {"a": 8000}).rows(0).start)
    mixed = constant(seq_len=8, batch=16, mixture=Mixture(weights={"a": 0.7, "b": 0.3}))
    domains = [Order(seed, mixed, {"a": 99, "b": 99}).rows(0).domain.tolist() for seed in range(9)]
    assert len({tuple(domain) for domain in domains}) > 1
    beside = Order(0, schedule, {"z": 500, "a": 8000}).rows(0)
    assert np.array_equal(first.start, beside.start)
    assert set(beside.domain.tolist()) == {1}


@pytest.fixture
def short() -> Order:
    """Ten steps of four rows."""
    schedule = constant(seq_len=4, batch=4, mixture=Mixture(epochs={"a": 1}))
    return Order(0, schedule, {"a": 157, "empty": 0})


@pytest.mark.parametrize("ask", [Order.rows, Order.seq_len, Order.batch, Order.first_sample])
def test_steps_that_are_not_there(short: Order, ask: object) -> None:
    assert short.num_steps == 10
    assert callable(ask)
    with pytest.raises(ValueError, match="step must be ≥ 0, got -1"):
        ask(short, -1)
    with pytest.raises(ValueError, match="step 10 is past the end: .* 10 steps is 9"):
        ask(short, 10)


def test_progress_of_steps_that_are_not_there(short: Order) -> None:
    assert short.progress(10)["a"].epochs == 1.0
    assert short.progress(10)["empty"].epochs == 0.0
    with pytest.raises(ValueError, match="step 11 is past the end"):
        short.progress(11)
    with pytest.raises(ValueError, match="must be ≥ 0"):
        short.progress(-1)


@pytest.mark.parametrize("part", [(-1, 2), (3, 2), (0, 5)])
def test_rows_that_are_not_there(short: Order, part: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="step 0 has 4 rows: expected 0 ≤ first ≤ last ≤ 4, got"):
        short.rows(0, *part)


def test_tokens_that_are_not_there(short: Order) -> None:
    with pytest.raises(ValueError, match="domain 'a' has 157 tokens: .* got \\[0, 158\\)"):
        short.seen(0, 0, 158, until_step=1)
    with pytest.raises(ValueError, match="the number of a domain, 0 to 1, got 2"):
        short.seen(2, 0, 1, until_step=1)
    with pytest.raises(ValueError, match="until_step must be ≥ 0, got -1"):
        short.seen(0, 0, 1, until_step=-1)
    assert short.seen(0, 0, 1, until_step=0) == []
    assert short.seen(1, 0, 0, until_step=1) == []


def test_sizes_that_cannot_be() -> None:
    schedule = constant(seq_len=4, batch=4, mixture=Mixture(weights={"a": 1}))
    with pytest.raises(ValueError, match="domain 'a': expected a size of 0 or more, got -1"):
        Order(0, schedule, {"a": -1})
    for sizes in ({}, {"a": 0}):
        with pytest.raises(ValueError, match="at least one domain with tokens"):
            Order(0, schedule, sizes)
    with pytest.raises(ConfigError, match="'a', which has no tokens"):
        Order(0, schedule, {"a": 0, "b": 5})
    with pytest.raises(ConfigError, match="names 'a'; there are b"):
        Order(0, schedule, {"b": 5})


@few
@given(st.data())
def test_steps_for_tokens(data: st.DataObject) -> None:
    """Against looking at the progress of every step."""
    sizes = {name: data.draw(st.sampled_from([0, 1, 5, 40])) for name in "ab"} | {"c": 30}
    full = [name for name, size in sizes.items() if size]
    phases: list[Phase] = []
    for _ in range(data.draw(st.integers(1, 3))):
        start = phases[-1].start + data.draw(st.integers(1, 6)) if phases else 0
        weights = {name: data.draw(st.sampled_from([0.0, 0.3, 2.0])) for name in full} | {"c": 1.0}
        mixture = Mixture(weights=weights, max_epochs=data.draw(st.sampled_from([None, 0.5, 2.0])))
        length, batch = data.draw(st.sampled_from([1, 3, 8])), data.draw(st.integers(1, 4))
        phases.append(Phase(start, length, batch, mixture))
    try:
        order = Order(data.draw(st.integers(0, 9)), Schedule(tuple(phases)), sizes)
    except ConfigError:
        return  # all was read before a phase
    tokens = data.draw(st.integers(1, 70))
    last = 400 if order.num_steps is None else order.num_steps
    for name in sizes:
        read = (step for step in range(last + 1) if order.progress(step)[name].tokens >= tokens)
        assert order.steps_for(name, tokens) == next(read, None)


def test_steps_of_the_first_epoch() -> None:
    mixture = Mixture(weights={"a": 3.0, "b": 1.0})
    order = Order(1, constant(seq_len=4, batch=2, mixture=mixture), {"a": 400, "b": 101, "c": 0})
    for name in "ab":
        steps = order.first_epoch(name)
        assert steps is not None
        assert order.progress(steps)[name].epochs >= 1
        assert order.progress(steps - 1)[name].epochs < 1
    assert order.first_epoch("c") is None


def test_an_epoch_that_never_ends() -> None:
    mixture = Mixture(weights={"a": 1.0})
    order = Order(1, constant(seq_len=4, batch=2, mixture=mixture), {"a": 40, "b": 10})
    assert order.first_epoch("b") is None
    capped = Mixture(epochs={"a": 1.0, "b": 0.5})
    ends = Order(1, constant(seq_len=4, batch=3, mixture=capped), {"a": 40, "b": 16})
    assert ends.first_epoch("a") == ends.num_steps
    assert ends.first_epoch("b") is None
    late = Schedule((Phase(0, 4, 2, mixture), Phase(70, 4, 2, Mixture(weights={"b": 1.0}))))
    assert Order(1, late, {"a": 40, "b": 10}).first_epoch("b") == 72
