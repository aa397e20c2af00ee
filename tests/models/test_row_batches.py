from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.models.row_batches import batches, padded_length


@given(
    st.lists(st.integers(0, 300), max_size=40),
    st.integers(1, 2000),
    st.sampled_from([1, 2, 8]),
)
def test_every_row_is_in_one_batch_that_holds_it(
    lengths: list[int], batch_tokens: int, multiple: int
) -> None:
    made = batches(lengths, max_length=300, batch_tokens=batch_tokens, multiple=multiple)
    held = [number for batch in made for number in batch.rows]
    assert sorted(held) == [i for i, length in enumerate(lengths) if length] or set(held) >= {
        i for i, length in enumerate(lengths) if length
    }
    assert len(set(held)) == len(held)
    for batch in made:
        assert all(lengths[number] <= batch.length <= 300 for number in batch.rows)
        assert len(batch.rows) <= batch.num_rows
        assert batch.num_rows % multiple == 0
        assert batch.num_rows * batch.length <= max(batch_tokens, multiple * batch.length)


def test_lengths_are_few() -> None:
    assert {padded_length(n, 1024) for n in range(1, 1025)} == {
        *(16, 32, 64),
        *range(64, 513, 64),
        *range(512, 1025, 128),
    }
    assert padded_length(1000, 1000) == 1000
    assert padded_length(3, 10) == 10


def test_rows_are_powers_of_two_or_as_many_as_fit() -> None:
    made = batches([100] * 37, max_length=128, batch_tokens=128 * 12)
    assert [batch.num_rows for batch in made] == [12, 12, 12, 1]
    assert [len(batch.rows) for batch in made] == [12, 12, 12, 1]


def test_short_rows_are_not_padded_to_a_long_one() -> None:
    made = batches([1000, 40, 40, 40], max_length=1024, batch_tokens=4096)
    assert [(batch.num_rows, batch.length) for batch in made] == [(1, 1024), (4, 64)]
    assert [batch.rows for batch in made] == [(0,), (1, 2, 3)]


def test_of_very_many_rows_all_but_the_last_are_in_full_batches() -> None:
    lengths = [1 + i % 60 for i in range(3000)]
    made = batches(
        lengths, max_length=64, batch_tokens=1024, length_of=lambda n, most: min(n, most)
    )
    assert sorted(number for batch in made for number in batch.rows) == list(range(3000))
    full = [batch for batch in made if batch.num_rows == 1024 // batch.length]
    assert all(len(batch.rows) == batch.num_rows for batch in full[:-1])
    assert sum(len(batch.rows) for batch in full) > 2400
    places = sum(batch.num_rows * batch.length for batch in made)
    assert places < 1.1 * sum(lengths)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=6))
@settings(deadline=None)
def test_no_other_cut_is_cheaper(lengths: list[int]) -> None:
    """Against all cuts into batches of 1, 2, 3 (as many as fit) rows and so on."""
    made = batches(lengths, max_length=64, batch_tokens=192)

    def cheapest(rest: list[int]) -> float:
        if not rest:
            return 0
        padded = padded_length(rest[0], 64)
        full = 192 // padded
        sizes = {size for size in (1, 2, 4, 8) if size < full} | {full}
        return min(size * padded + 6 + cheapest(rest[size:]) for size in sizes)

    cost = sum(batch.num_rows * batch.length + 6 for batch in made)
    assert cost == cheapest(sorted(lengths, reverse=True))
