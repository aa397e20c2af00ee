from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.score.batches import batches, padded_length


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
        *(16, 32, 64, 128),
        *range(128, 1025, 128),
    }
    assert padded_length(1000, 1000) == 1000
    assert padded_length(3, 10) == 10


def test_the_last_batch_has_a_power_of_two_of_rows() -> None:
    made = batches([100] * 37, max_length=128, batch_tokens=128 * 16)
    assert [batch.num_rows for batch in made] == [16, 16, 8]
