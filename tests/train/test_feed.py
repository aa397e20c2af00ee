from __future__ import annotations

import jax
import numpy as np
import pytest

from barrow.parallel import make_mesh, rows_sharding
from barrow.stream import Stream
from barrow.stream.choices import make_stream
from barrow.stream.explain import seen_at
from barrow.train import Run
from barrow.train.feed import CheckedStream, describe, feed


@pytest.fixture
def stream(run: Run) -> Stream:
    return make_stream(run.store, run.data)


def test_batches_lie_on_the_mesh(stream: Stream) -> None:
    sharding = rows_sharding(make_mesh())
    with feed(stream, sharding, vocab_size=259, start=2, stop=4) as batches:
        found = list(batches)
    assert [step for step, _ in found] == [2, 3]
    for step, placed in found:
        wanted = stream.batch(step).arrays()
        assert placed.keys() == wanted.keys()
        for name, array in placed.items():
            assert array.sharding == sharding
            assert len({shard.device for shard in array.addressable_shards}) == jax.device_count()
            np.testing.assert_array_equal(array, wanted[name])


def test_a_stream_that_ends(store: object) -> None:
    from barrow.stream import Mixture

    stream = Stream(str(store), seed=0, seq_len=16, batch=8, mixture=Mixture(epochs={"A": 1.0}))
    assert stream.num_steps is not None
    with feed(stream, rows_sharding(make_mesh()), vocab_size=259) as batches:
        assert len(list(batches)) == stream.num_steps


def test_ids_over_the_vocabulary_are_named(stream: Stream) -> None:
    """The place is that in the global batch, whichever part of it was read."""
    whole = stream.batch(1)
    row, column = (int(n) for n in np.argwhere(whole.tokens == 256)[-1])
    with pytest.raises(ValueError, match="vocabulary has 256 ids") as error:
        CheckedStream(stream, 256).batch(1, rows=slice(row, row + 1), columns=slice(column, 16))
    words = str(error.value)
    inside = [s for s in seen_at(stream, 1, row=row) if s.column == column]
    assert words.startswith(
        f"step 1, row {row}, column {column} ({describe(inside[0])}) has id 256"
    )
    assert "model.vocab_size=259 is the store's" in words
    assert inside[0].identity in words


def test_targets_are_looked_at_where_they_count(stream: Stream) -> None:
    """A document's last token is followed by the begin of the next, 256, in no row's tokens."""
    for step in range(50):
        batch = stream.batch(step)
        for row in range(8):
            if 256 not in batch.tokens[row] and 256 in batch.targets[row][batch.mask[row]]:
                with pytest.raises(ValueError, match=f"row {row}, .* is followed by id 256"):
                    CheckedStream(stream, 256).batch(step, rows=slice(row, row + 1))
                return
    raise AssertionError("no such row")


def test_good_ids_pass(stream: Stream) -> None:
    checked = CheckedStream(stream, 257)
    assert checked.shape(0) == (8, 16)
    np.testing.assert_array_equal(checked.batch(0).tokens, stream.batch(0).tokens)
