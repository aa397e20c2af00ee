from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.stream.labelled.length_batches import LengthBatches


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=80),
    st.integers(1, 9),
    st.integers(0, 2**63),
    st.integers(1, 4),
)
def test_an_epoch_has_every_row_once(
    lengths: list[int], batch: int, seed: int, window: int
) -> None:
    order = LengthBatches(tuple(lengths), batch, seed, window)
    again = LengthBatches(tuple(lengths), batch, seed, window)
    for epoch in (0, 3):
        steps = range(epoch * order.per_epoch, (epoch + 1) * order.per_epoch)
        found = [order(step) for step in steps]
        assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
        assert sorted(map(len, found))[1:] == [batch] * (order.per_epoch - 1)
        # A function of the step alone, in whatever order steps are asked for.
        for step in reversed(steps):
            assert again(step).tolist() == found[step % order.per_epoch].tolist()


def test_little_is_padded_and_all_is_mixed() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(5, 500, 2000)
    order = LengthBatches(tuple(lengths.tolist()), 16, seed=0)
    found = [order(step) for step in range(order.per_epoch)]
    padded = sum(lengths[batch].max() * len(batch) for batch in found)
    assert padded < 1.1 * lengths.sum()
    firsts = [lengths[batch].mean() for batch in found]
    assert abs(np.corrcoef(firsts, np.arange(len(firsts)))[0, 1]) < 0.25
    other = LengthBatches(tuple(lengths.tolist()), 16, seed=1)
    assert other(0).tolist() != found[0].tolist()
    assert order(order.per_epoch).tolist() != found[0].tolist()
    second = {frozenset(order(order.per_epoch + step).tolist()) for step in range(order.per_epoch)}
    assert not second & {frozenset(batch.tolist()) for batch in found}  # other rows meet


@pytest.mark.parametrize("given", [((), 1, 0, 1), ((1,), 0, 0, 1), ((1,), 1, 0, 0)])
def test_nothing_to_cut(given: tuple[tuple[int, ...], int, int, int]) -> None:
    with pytest.raises(ValueError, match="rows, batch and window must be"):
        LengthBatches(*given)
