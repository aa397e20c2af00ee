from __future__ import annotations

import jax
import numpy as np
import pytest

from barrow.parallel import make_mesh, rows_sharding
from barrow.stream import Stream
from barrow.train import Run
from barrow.train.fit import feed
from barrow.train.tasks.token_data import TokenData


@pytest.fixture
def stream(run: Run) -> Stream:
    return Stream(run.data.open(run.store))


def test_batches_lie_on_the_mesh(stream: Stream) -> None:
    sharding = rows_sharding(make_mesh())
    with feed(TokenData(stream, 259), sharding, start=2, stop=4) as batches:
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

    stream = Stream(str(store), seed=0, seq_len=16, batch=8, epochs={"A": 1.0})
    assert stream.num_steps is not None
    with feed(TokenData(stream, 259), rows_sharding(make_mesh())) as batches:
        assert len(list(batches)) == stream.num_steps
