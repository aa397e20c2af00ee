"""Many rows of many domains at once are the rows of each alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stream.slow_order import SlowDomain

from barrow.stream.order.cut import Cut
from barrow.stream.order.reading import Reading
from barrow.stream.order.shuffle import Shuffle
from barrow.stream.order.windows import Windows


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 90) | st.integers(1000, 3000), min_size=1, max_size=4),
    chunk=st.integers(1, 9),
    pieces=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    seed=st.integers(0, 1000),
)
def test_domains_are_mixed_and_lengths_change(
    sizes: list[int], chunk: int, pieces: list[int], seed: int
) -> None:
    random = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(len(sizes))]
    shuffle = Shuffle(seed, names, [size // chunk for size in sizes])
    slow = [SlowDomain(seed, name, size, chunk) for name, size in zip(names, sizes, strict=True)]
    windows = Windows([Reading(Cut(size, chunk, chunk)) for size in sizes], shuffle)
    taken = [0] * len(sizes)
    for piece in (min(piece, chunk) for piece in pieces):
        windows = windows.then(taken, piece=piece)
        for one in slow:
            one.set_piece(piece)
        domain = random.integers(0, len(sizes), 400)
        row = np.zeros(400, np.int64)
        expected = []
        for number, d in enumerate(domain.tolist()):
            row[number] = taken[d]
            taken[d] += 1
            expected.append(slow[d].next_row())
        shuffled = random.permutation(400)  # rows may be asked for in any order
        spans = windows.spans(domain[shuffled], row[shuffled])
        found = zip(
            *(part.tolist() for part in (spans.epoch, spans.start, spans.length)), strict=True
        )
        assert list(found) == [expected[number] for number in shuffled]


def test_the_same_length_goes_on() -> None:
    windows = Windows([Reading(Cut(10, 4, 4))], Shuffle(0, ["a"], [2]))
    assert windows.then([1], piece=4) is windows
    assert windows.then([1], piece=2) is not windows


def test_far_rows_are_exact() -> None:
    """A domain of 10^12 tokens in its 1,000th epoch."""
    size, chunk = 10**12 + 17, 2048
    reading = Reading(Cut(size, chunk, 512))
    windows = Windows([reading], Shuffle(0, ["a"], [size // chunk]))
    first = 1000 * reading.cut.num_rows - 3
    row = np.arange(first, first + 6)
    spans = windows.spans(np.zeros(6, np.int64), row)
    assert spans.epoch.tolist() == [999] * 3 + [1000] * 3
    assert (spans.start >= 0).all()
    assert (spans.start + spans.length <= size).all()
