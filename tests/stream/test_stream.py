"""ACCELERATE-8, BEYOND-4: batches that depend on store, settings and step alone."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.stream.conftest import Parts

from barrow.errors import ConfigError, StoreError
from barrow.stream import (
    Batch,
    Mixture,
    Mlm,
    Order,
    Phase,
    Schedule,
    Stream,
    StreamSettings,
    constant,
)
from barrow.stream.order.order import Rows
from barrow.stream.part import Part
from barrow.stream.stream import Blocks


def equal(a: Batch, b: Batch) -> bool:
    return all((x == b.arrays()[name]).all() for name, x in a.arrays().items())


def stack(parts: list[Batch]) -> dict[str, np.ndarray]:
    arrays = [part.arrays() for part in parts]
    return {name: np.concatenate([a[name] for a in arrays]) for name in arrays[0]}


PACKINGS = ["cut", "fit", "document"]


# What a batch holds ------------------------------------------------------------------------------


@given(st.randoms(use_true_random=True))
@settings(max_examples=40)
def test_cut_against_the_slow_one(
    stores: Callable, slow: Any, check_batch: Callable, rng: Random
) -> None:
    begin, end = rng.choice([(0, None), (0, 1), (None, None)])
    store = stores(draw_lengths(rng), begin=begin, end=end)
    seq_len = rng.randint(1, 9)
    stream = Stream(store, seq_len=seq_len, batch=4, seed=rng.randrange(99), pad=9)
    step = rng.randrange(1000)
    rows = stream.order.rows(step)
    triples = list(zip(*(a.tolist() for a in (rows.domain, rows.start, rows.length)), strict=True))
    expected = slow.arrays(store, [slow.cut(store, row) for row in triples], seq_len, 9)
    check_batch(stream.batch(step), expected)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("ending", [(0, None), (0, 1), (None, None)])
def test_every_token_once_an_epoch(
    stores: Callable, tmp_path: Path, packing: Any, ending: tuple[int | None, int | None]
) -> None:
    """Each token of each document is seen once with its own next token as the target."""
    lengths = [[7, 0, 30, 1, 12, 5], [3, 3, 9, 25], [1]]
    store = stores(lengths, begin=ending[0], end=ending[1])
    stream = Stream(
        store,
        seq_len=10,
        batch=4,
        seed=3,
        epochs={"A": 1.0, "B": 1.0, "C": 1.0},
        packing=packing,
        cache=tmp_path,
    )
    seen: Counter[tuple[int, int]] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    assert stream.num_steps is not None
    for step in range(stream.num_steps):
        batch = stream.batch(step)
        for r, c in np.argwhere(batch.segments > 0).tolist():
            document = int(batch.documents[r, batch.segments[r, c] - 1])
            seen[document, int(batch.tokens[r, c])] += 1
            if batch.mask[r, c]:
                pairs[int(batch.tokens[r, c]), int(batch.targets[r, c])] += 1
    expected: Counter[tuple[int, int]] = Counter()
    follow: Counter[tuple[int, int]] = Counter()
    for number, (_, ids) in enumerate(store.documents):
        expected.update((number, token) for token in ids)
        after = [*ids[1:], 0] if ending == (0, None) else list(ids[1:])
        follow.update(zip(ids, after, strict=False) if ids else [])
    assert seen == expected
    assert pairs == follow


def test_whole_documents_stay_whole(stores: Callable, tmp_path: Path) -> None:
    """Best-fit packing cuts only documents that are longer than a row, and wastes little."""
    rng = np.random.default_rng(0)
    store = stores([rng.integers(1, 60, 400).tolist()])
    stream = Stream(
        store, seq_len=64, batch=8, seed=0, epochs={"A": 1.0}, packing="fit", cache=tmp_path
    )
    total = filled = 0
    for step in range(stream.num_steps or 0):
        batch = stream.batch(step)
        assert batch.tokens.shape == (8, 64)
        starts = batch.tokens[(batch.segments > 0) & (batch.positions == 0)]
        assert (starts == 0).all()
        total += batch.segments.size
        filled += batch.num_tokens
    assert filled == store.domain_tokens(0)
    assert filled / total > 0.94


def test_documents_are_padded_to_buckets(stores: Callable, tmp_path: Path) -> None:
    store = stores([[3, 4, 3, 5, 6, 7, 2, 3, 40]])
    stream = Stream(
        store,
        seq_len=32,
        batch=2,
        seed=0,
        packing="document",
        buckets=(4, 8, 32),
        pad=8,
        cache=tmp_path,
    )
    widths = set()
    for step in range(40):
        batch = stream.batch(step)
        longest = int((batch.segments > 0).sum(axis=1).max())
        assert batch.tokens.shape[1] == next(b for b in (4, 8, 32) if b >= longest)
        assert batch.tokens.shape == stream.shape(step)
        assert batch.documents.shape == (2, 1)
        assert (batch.tokens[batch.segments == 0] == 8).all()
        for rank in range(2):
            assert stream.batch(step, rank=rank, of=2).tokens.shape[1] == batch.tokens.shape[1]
        widths.add(batch.tokens.shape[1])
    assert widths == {4, 8, 32}


def test_seq_len_one(stores: Callable) -> None:
    """The shortest rows there can be."""
    stream = Stream(stores([[3, 2]]), seq_len=1, batch=5, seed=0)
    batch = stream.batch(0)
    assert sorted(batch.tokens[:, 0].tolist()) == sorted(stream.data.store.sequences[0])
    assert batch.mask.all()


# A function of store, settings and step ----------------------------------------------------------


def draw_lengths(rng: Random) -> list[list[int]]:
    """Lengths of the documents of some domains, the first of which has tokens."""
    more = [
        [rng.randint(0, 25) for _ in range(rng.randint(0, 6))] for _ in range(rng.randint(0, 2))
    ]
    return [[9, 8], *more]


def draw_settings(rng: Random, names: list[str]) -> StreamSettings:
    """Any packing, masking, phases and mixtures; batches that many numbers of ranks can share."""
    packing: Any = rng.choice(PACKINGS)
    fixed = rng.randint(1, 12)
    phases = []
    for start in sorted({0, *rng.choices(range(1, 13), k=rng.randint(0, 2))}):
        weights = {name: rng.choice([0.0, 0.3, 1.0, 5.0]) for name in names}
        weights[rng.choice(names)] = 1.0
        mixture = Mixture(weights=weights, max_epochs=rng.choice([None, 2.0, 30.0]))
        seq_len = rng.randint(1, 12) if packing == "cut" else fixed
        phases.append(Phase(start, seq_len, rng.choice([12, 24]), mixture))
    mlm = rng.choice([None, Mlm(0.3), Mlm(0.3, whole_word=True)])
    return StreamSettings(
        seed=rng.getrandbits(70), schedule=Schedule(tuple(phases)), packing=packing, mlm=mlm
    )


@given(st.randoms(use_true_random=True))
def test_elastic(stores: Callable, tmp_path: Path, rng: Random) -> None:
    """Whatever ranks read it, wherever they stop and go on: the union is the unbroken run.

    Random seed, store, mixture schedule, ranks and stop points.
    """
    store = stores(draw_lengths(rng))
    names = [n for d, n in enumerate(store.domains) if store.domain_tokens(d)]
    chosen = draw_settings(rng, names)

    def fresh() -> Stream:
        return Stream(chosen.open(store, cache=tmp_path, tokenizer=FakeTokenizer()))

    try:
        whole = fresh()
    except ConfigError as error:
        if "the mixture before it ends" in str(error):  # before a phase would begin
            reject()
        raise
    last = min(16, whole.num_steps or 16)
    stops = sorted({0, *rng.choices(range(last + 1), k=rng.randint(0, 3)), last})
    for first, stop in pairwise(stops):
        ranks = rng.choice([1, 2, 3, 4, 6, 12])
        resumed = fresh()
        for step in range(first, stop):
            parts = [resumed.batch(step, rank=r, of=ranks) for r in range(ranks)]
            expected = whole.batch(step)
            for name, array in stack(parts).items():
                assert (array == expected.arrays()[name]).all(), name


class FakeTokenizer:
    """Every second id begins with white space."""

    vocab_size, mask, hash = 1000, 3, "t" * 64
    specials: dict[str, int] = {"<s>": 0, "<m>": 3}  # noqa: RUF012

    def token_bytes(self, token: int) -> bytes:
        return b"" if token < 10 else (b" x" if token % 2 else b"x")


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("mlm", [None, Mlm(0.5), Mlm(0.5, whole_word=True)])
def test_any_slice(stores: Callable, tmp_path: Path, packing: Any, mlm: Mlm | None) -> None:
    store = stores([[12, 3, 30], [5, 0, 8]])
    stream = Stream(
        store,
        seq_len=8,
        batch=6,
        seed=1,
        packing=packing,
        mlm=mlm,
        tokenizer=FakeTokenizer(),
        cache=tmp_path,
    )
    for step in (0, 5):
        whole = stream.batch(step)
        width = whole.tokens.shape[1]
        for rows in (slice(0, 6), slice(2, 3), slice(4, 6), slice(3, 3)):
            for columns in (slice(0, width), slice(width // 2, width), slice(1, 2)):
                part = stream.batch(step, rows=rows, columns=columns)
                for name, array in whole.arrays().items():
                    assert (getattr(part, name) == array[rows, columns]).all(), name
                num = part.documents.shape[1]
                assert (part.documents == whole.documents[rows, :num]).all()
                assert (whole.documents[rows, num:] == -1).all()


def test_batch_size_does_not_change_the_order(stores: Callable) -> None:
    store = stores([[50, 3, 20], [33]])
    small = Stream(store, seq_len=4, batch=3, seed=1)
    large = Stream(store, seq_len=4, batch=12, seed=1)
    for step in range(10):
        parts = stack([small.batch(4 * step + k) for k in range(4)])
        assert (parts["tokens"] == large.batch(step).tokens).all()


def test_steps_in_any_order(stores: Callable) -> None:
    store = stores([[50, 3, 20], [33]])
    stream = Stream(store, seq_len=4, batch=3, seed=1)
    again = Stream(store, seq_len=4, batch=3, seed=1)
    ahead = {step: stream.batch(step) for step in (900, 3, 10**9, 4, 3)}
    for step, batch in sorted(ahead.items()):
        assert equal(batch, again.batch(step))
    assert not equal(stream.batch(3), Stream(store, seq_len=4, batch=3, seed=2).batch(3))


def test_a_later_phase_changes_nothing_before(stores: Callable) -> None:
    stream = Stream(stores([[50, 3, 20], [33]]), seq_len=4, batch=3, seed=1)
    longer = stream.then(Phase(5, 2, 6, Mixture(weights={"B": 1.0})))
    for step in range(5):
        assert equal(stream.batch(step), longer.batch(step))
    assert longer.batch(5).tokens.shape == (6, 2)
    assert stream.batch(5).tokens.shape == (3, 4)


def test_mlm_is_in_the_batch(stores: Callable) -> None:
    store = stores([[500]])
    plain = Stream(store, seq_len=50, batch=4, seed=1).batch(2)
    stream = Stream(store, seq_len=50, batch=4, seed=1, mlm=Mlm(), tokenizer=FakeTokenizer())
    batch = stream.batch(2)
    assert (batch.targets == plain.tokens).all()
    assert 5 < batch.mask.sum() < 60
    assert (batch.tokens[~batch.mask] == plain.tokens[~batch.mask]).all()
    assert (batch.tokens == 3).sum() > batch.mask.sum() / 2


# Saved, copied -----------------------------------------------------------------------------------


def test_saved_and_loaded(stores: Callable, tmp_path: Path) -> None:
    store = stores([[50, 3, 20], [33]])
    stream = Stream(store, seq_len=4, batch=3, seed=1).then(
        Phase(5, 2, 6, Mixture(weights={"B": 1.0}))
    )
    stream.save(tmp_path / "run.json")
    loaded = Stream.load(tmp_path / "run.json", store)
    assert loaded.settings == stream.settings
    assert equal(loaded.batch(7), stream.batch(7))
    with pytest.raises(StoreError, match="every batch would change"):
        Stream.load(tmp_path / "run.json", replace(store, identity="x" * 64))


def test_a_real_store(token_store: Any, tmp_path: Path) -> None:
    """From a folder, by its path; saved, loaded and pickled without naming it again."""
    stream = Stream(token_store.folder, seq_len=16, batch=4, seed=1, mlm=Mlm(whole_word=True))
    stream.save(tmp_path / "run.json")
    loaded = Stream.load(tmp_path / "run.json")
    copied = pickle.loads(pickle.dumps(stream))
    for step in (0, 77):
        assert equal(stream.batch(step), loaded.batch(step))
        assert equal(stream.batch(step), copied.batch(step))
    plain = Stream(token_store, seq_len=16, batch=4, seed=1)
    batch = plain.batch(3)
    documents = {d for row in batch.documents.tolist() for d in row if d >= 0}
    for number in documents:
        entry = token_store.document(number)
        ids = token_store.read(token_store.domains.index(entry.domain), entry.start, entry.stop)
        assert ids[0] == 256
        bytes(ids[1:].astype(np.uint8)).decode()
    assert "endless" in repr(plain)


def test_prefetch(stores: Callable) -> None:
    stream = Stream(
        stores([[50, 3, 20], [33]]),
        seq_len=4,
        batch=2,
        seed=1,
        epochs={"A": 1.0, "B": 1.0},
    )
    last = stream.num_steps
    assert last is not None
    with stream.prefetch(3, threads=2, depth=4) as ahead:
        got = list(ahead)
    assert [step for step, _ in got] == list(range(3, last))
    assert all(equal(batch, stream.batch(step)) for step, batch in got)
    with stream.prefetch(0, 2, rank=1, of=2) as ahead:
        for step, batch in ahead:
            assert equal(batch, stream.batch(step, rank=1, of=2))
    with stream.prefetch(rank=0, of=3) as ahead, pytest.raises(ValueError, match="3 ranks cannot"):
        next(ahead)
    with pytest.raises(ValueError, match="start must be ≥ 0, got -1"):
        stream.prefetch(-1)


# Bad input ---------------------------------------------------------------------------------------


def test_bad_settings(stores: Callable, tmp_path: Path) -> None:
    store = stores([[5, 6], [], [0]])
    with pytest.raises(ConfigError, match="pass seq_len and batch, or a schedule"):
        Stream(store, seed=0, seq_len=4)
    schedule = Schedule((Phase(0, 4, 2, Mixture(weights={"A": 1.0})),))
    with pytest.raises(ConfigError, match="the schedule already sets batch"):
        Stream(store, seed=0, schedule=schedule, batch=4)
    for packing in PACKINGS:
        for name in "BC":
            with pytest.raises(ConfigError, match=f"for '{name}', which has no tokens"):
                Stream(
                    store,
                    seed=0,
                    seq_len=4,
                    batch=2,
                    weights={"A": 1.0, name: 1.0},
                    packing=packing,
                    cache=tmp_path,
                )
    with pytest.raises(ConfigError, match="names 'D'"):
        Stream(store, seed=0, seq_len=4, batch=2, weights={"D": 1.0})
    with pytest.raises(ConfigError, match="pad must be an id from 0 to 999"):
        Stream(store, seed=0, seq_len=4, batch=2, pad=1000)


def test_an_empty_store(stores: Callable) -> None:
    for empty in (stores([]), stores([[0, 0]])):
        with pytest.raises(ValueError, match="has no tokens; there is nothing to read"):
            Stream(empty, seq_len=4, batch=2, seed=0)
        schedule = Schedule((Phase(0, 4, 2, Mixture(weights={"A": 1.0})),))
        with pytest.raises(ValueError, match="has no tokens; there is nothing to read"):
            Stream(empty, schedule=schedule, seed=0)


def test_another_tokenizer(stores: Callable) -> None:
    tokenizer = FakeTokenizer()
    tokenizer.hash = "u" * 64  # type: ignore[misc]
    with pytest.raises(ValueError, match="made with tokenizer tttt.*got uuuu"):
        Stream(stores([[5]]), seq_len=4, batch=2, seed=0, tokenizer=tokenizer)


def test_steps_and_ranks_that_are_not_there(stores: Callable) -> None:
    stream = Stream(stores([[50]]), seq_len=4, batch=4, seed=0, epochs={"A": 1.0})
    assert stream.num_steps == 4
    with pytest.raises(ValueError, match="step 4 is past the end"):
        stream.batch(4)
    with pytest.raises(ValueError, match="step must be ≥ 0, got -1"):
        stream.batch(-1)
    with pytest.raises(ValueError, match="3 ranks cannot share a batch of 4"):
        stream.batch(0, rank=0, of=3)
    with pytest.raises(ValueError, match="to 1, got 2"):
        stream.batch(0, rank=2, of=2)
    with pytest.raises(ValueError, match="rows 3:5:None is not a part of 4"):
        stream.batch(0, rows=slice(3, 5))
    last = stream.batch(3)
    assert (last.segments[1:] == 0).all()
    assert not last.mask[1:].any()


def test_a_truncated_store(token_store: Any, tmp_path: Path) -> None:
    """A file of the store that was cut off is told at opening."""
    import shutil

    copy = tmp_path / "store"
    shutil.copytree(token_store.folder, copy)
    file = next(copy.glob("tokens-*.safetensors"))
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(StoreError, match=file.name):
        Stream(copy, seq_len=4, batch=2, seed=0)


# Views and parts ----------------------------------------------------------------------------------


def test_numpy(stores: Callable) -> None:
    store = stores([[50, 3, 20]])
    stream = Stream(store, seq_len=4, batch=2, seed=1, epochs={"A": 1.0})
    got = list(stream.numpy(2))
    assert [step for step, _ in got] == list(range(2, stream.num_steps or 0))
    assert all((b.tokens == stream.batch(s).tokens).all() for s, b in got)
    assert [step for step, _ in stream.numpy(1, 3)] == [1, 2]
    (_, part), *_ = stream.numpy(rank=1, of=2)
    assert (part.tokens == stream.batch(0).tokens[1:]).all()
    with pytest.raises(ValueError, match="start must be ≥ 0, got -1"):
        stream.numpy(-1)


def test_numpy_without_end(stores: Callable) -> None:
    stream = Stream(stores([[50]]), seq_len=4, batch=2, seed=1)
    assert [step for step, _ in itertools.islice(stream.numpy(), 100)] == list(range(100))


class Numbers:
    """A source whose samples are the numbers of items; it notes how many it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        return seq_len + len(rows())

    def samples(self, rows: Rows) -> list[int]:
        self.asked.append(len(rows))
        return rows.start.tolist()


def made(at_once: int = 1) -> tuple[Numbers, Stream[Any]]:
    source = Numbers()
    schedule = constant(seq_len=3, batch=4, mixture=Mixture(weights={"x": 1.0}))
    order = Order.of_items(5, schedule, {"x": 100})
    return source, Stream(Parts(order, source, lambda samples, part: (samples, part), at_once))


def test_a_costly_source_is_asked_for_no_more_than_needed() -> None:
    source, stream = made()
    samples, part = stream.batch(3, rows=slice(1, 3), columns=slice(2, 5))
    assert source.asked == [2]
    assert part == Part(3, range(1, 3), range(2, 5), 7)
    assert samples == stream.samples(3)[1:3]
    assert stream.shape(3) == (4, 7)


def test_a_cheap_source_is_asked_once_for_many() -> None:
    source, stream = made(at_once=64)
    _, alone = made()
    for step in (0, 15, 3, 16):
        assert stream.batch(step)[0] == alone.batch(step)[0]
    assert source.asked == [64, 64]


def test_parts_that_are_not_there() -> None:
    _, stream = made()
    with pytest.raises(ValueError, match="step must be ≥ 0, got -1"):
        stream.batch(-1)
    with pytest.raises(ValueError, match="3 ranks cannot share a batch of 4 rows"):
        stream.batch(0, rank=0, of=3)
    with pytest.raises(ValueError, match="rows 2:5:None is not a part of 4"):
        stream.batch(0, rows=slice(2, 5))
    with pytest.raises(ValueError, match="columns 0:8:None is not a part of 7"):
        stream.batch(0, columns=slice(0, 8))


class Starts:
    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        return seq_len

    def samples(self, rows: Rows) -> list[tuple[int, int]]:
        return list(zip(rows.domain.tolist(), rows.start.tolist(), strict=True))


def order(end: float | None) -> Order:
    mixture = Mixture(weights={"a": 2.0, "b": 1.0}, max_epochs=end)
    phases = (Phase(0, 4, 3, mixture), Phase(5, 2, 2, mixture), Phase(6, 4, 50, mixture))
    return Order(9, Schedule(phases), {"a": 400, "b": 101})


@given(st.integers(0, 11), st.integers(1, 40), st.sampled_from([None, 5.0]), st.data())
def test_blocks_change_nothing(
    step: int, at_once: int, end: float | None, data: st.DataObject
) -> None:
    """Steps of a block, across phases and up to the end, are what they would be alone."""
    made = order(end)
    blocks = Blocks(made, Starts(), at_once=at_once)
    alone = Starts().samples(made.rows(step))
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(alone))] * 2)))
    assert blocks.samples(step, range(a, b)) == alone[a:b]
    assert Starts().samples(blocks.rows(step)) == alone


def test_the_last_step_and_no_further() -> None:
    made = order(2.0)
    blocks = Blocks(made, Starts(), at_once=1000)
    last = made.num_steps
    assert last is not None
    assert len(blocks.rows(last - 1)) == 50
    with pytest.raises(ValueError, match=f"step {last} is past the end"):
        blocks.rows(last)
    with pytest.raises(ValueError, match="steps of one phase, from 0 to 5"):
        made.rows_of_steps(3, 6)
    with pytest.raises(ValueError, match="steps of one phase"):
        made.rows_of_steps(3, 3)
    assert made.phase_steps(5) == (5, 6)
    assert made.phase_steps(7) == (6, last)
    assert order(None).phase_steps(70) == (6, None)
