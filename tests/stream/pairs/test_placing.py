from __future__ import annotations

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tests.stream.pairs.conftest import stream_of

from barrow.stream.pairs import PairIndex


def test_on_a_mesh(index: PairIndex) -> None:
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "fsdp"))
    stream = stream_of(index, batch=16)
    for spec in (PartitionSpec(("data", "fsdp")), PartitionSpec("data"), PartitionSpec()):
        sharding = NamedSharding(mesh, spec)
        with stream.prefetch(1, 2, place=sharding) as batches:
            ((_, placed),) = batches
        whole = stream.batch(1).arrays()
        assert sorted(placed) == ["images", "mask", "texts"]
        for name, array in placed.items():
            assert array.sharding == sharding
            assert np.array_equal(np.asarray(array), whole[name])
