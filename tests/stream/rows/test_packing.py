from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.rows.packing import Packing, best_fit, one_by_one


def starts_of(lengths: list[int]) -> np.ndarray:
    return np.cumsum([0, *lengths]).astype(np.int64)


def slow_best_fit(lengths: list[int], seq_len: int) -> list[list[int]]:
    """Textbook best-fit decreasing, as the places where pieces start.

    Of pieces of the same length the first comes first; of rows with the same room, the one that
    had it first.
    """
    pieces = []
    start = 0
    for length in lengths:
        pieces += [(min(seq_len, length - k), start + k) for k in range(0, length, seq_len)]
        start += length
    rows: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # room of a row, and since when
    for now, (piece, place) in enumerate(sorted(pieces, key=lambda p: -p[0])):
        fitting = [(room, since, r) for r, (room, since) in enumerate(rooms) if room >= piece]
        if fitting:
            room, _, r = min(fitting)
            rows[r].append(place)
            rooms[r] = (room - piece, now)
        else:
            rows.append([place])
            rooms.append((seq_len - piece, now))
    return rows


def contents(packing: Packing) -> list[list[int]]:
    bounds = packing.offsets.tolist()
    return [packing.length[a:b].tolist() for a, b in itertools.pairwise(bounds)]


def check(packing: Packing, lengths: list[int], seq_len: int) -> None:
    """Every token once; no row too full; pieces know their document and its end."""
    starts = starts_of(lengths)
    covered = np.zeros(sum(lengths), int)
    for start, length, document, last in zip(
        packing.start, packing.length, packing.document, packing.last, strict=True
    ):
        covered[start : start + length] += 1
        assert starts[document] <= start
        assert start + length <= starts[document + 1]
        assert bool(last) == (start + length == starts[document + 1])
        assert (start - starts[document]) % seq_len == 0
    assert (covered == 1).all()
    assert all(0 < sum(row) <= seq_len for row in contents(packing))
    places = packing.num_rows * seq_len
    assert packing.num_tokens == sum(lengths)
    assert packing.waste(seq_len) == (1 - sum(lengths) / places if places else 0)


lengths_drawn = st.randoms(use_true_random=True).map(
    lambda rng: rng.choices(range(rng.randint(1, 41)), k=rng.randint(0, 60))
)


@given(lengths_drawn, st.integers(1, 20))
def test_best_fit_is_the_textbook_one(lengths: list[int], seq_len: int) -> None:
    packing = best_fit(starts_of(lengths), seq_len)
    check(packing, lengths, seq_len)
    bounds = packing.offsets.tolist()
    rows = [packing.start[a:b].tolist() for a, b in itertools.pairwise(bounds)]
    assert rows == sorted(sorted(row) for row in slow_best_fit(lengths, seq_len))


@given(lengths_drawn, st.integers(1, 20))
def test_rows_and_their_pieces_keep_the_order_of_the_store(
    lengths: list[int], seq_len: int
) -> None:
    packing = best_fit(starts_of(lengths), seq_len)
    heads = packing.start[packing.offsets[:-1]]
    assert (np.diff(heads) > 0).all()
    for a, b in itertools.pairwise(packing.offsets):
        assert (np.diff(packing.start[a:b]) > 0).all()


@given(lengths_drawn, st.integers(1, 20))
def test_one_by_one(lengths: list[int], seq_len: int) -> None:
    packing = one_by_one(starts_of(lengths), seq_len)
    check(packing, lengths, seq_len)
    assert all(len(row) == 1 for row in contents(packing))
    assert (np.diff(packing.start) > 0).all()


def test_documents_of_the_same_length_stay_in_order() -> None:
    """However many there are: the packing is the same on every machine."""
    packing = best_fit(np.arange(0, 30_001, 3), 9)
    assert (packing.start == np.arange(0, 30_000, 3)).all()
    assert (packing.offsets == np.append(np.arange(0, 10_000, 3), 10_000)).all()


def test_waste_is_small_on_many_documents() -> None:
    lengths = np.random.default_rng(0).lognormal(5, 1.2, 5000).astype(int) + 1
    starts = starts_of(lengths.tolist())
    packed, alone = best_fit(starts, 1024), one_by_one(starts, 1024)
    assert packed.waste(1024) < 0.002
    assert packed.num_tokens == alone.num_tokens
    assert alone.waste(1024) > 0.5


@pytest.mark.parametrize("pack", [best_fit, one_by_one])
def test_nothing_to_pack(pack) -> None:
    for lengths in ([], [0, 0]):
        packing = pack(starts_of(lengths), 8)
        assert packing.num_rows == 0
        assert packing.waste(8) == 0.0
