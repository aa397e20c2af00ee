from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from tests.checkpoint.runs import placement

from barrow.checkpoint.snapshot import snapshot


def test_every_block_is_held_once() -> None:
    """Divided arrays in blocks, replicated ones whole; together each array exactly."""
    mesh = placement(8).mesh
    whole = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    tree = {
        "divided": jax.device_put(whole, NamedSharding(mesh, PartitionSpec(None, "fsdp"))),
        "replicated": jax.device_put(whole, NamedSharding(mesh, PartitionSpec())),
        "keys": jax.random.split(jax.random.key(0), 3),
        "plain": whole,
        "scalar": jnp.int32(5),
    }
    held = snapshot(tree)
    assert set(held.kinds) == set(tree)
    starts = {name: [p.start for p in held.pieces if p.path == name] for name in tree}
    assert starts["divided"] == [(0, i) for i in range(8)]
    assert starts["replicated"] == [(0, 0)]
    assert starts["scalar"] == [()]
    joined = np.zeros((8, 8), np.float32)
    for piece in held.pieces:
        if piece.path == "divided":
            (row, column), (height, width) = piece.start, piece.array.shape
            joined[row : row + height, column : column + width] = piece.array
    assert np.array_equal(joined, whole)


def test_nothing_is_shared_with_the_tree() -> None:
    plain = np.zeros(1000, np.float32)
    array = jnp.zeros(1000)
    held = snapshot({"a": plain, "b": array})
    plain[:] = 1
    jax.jit(lambda x: x + 1, donate_argnums=0)(array)
    assert array.is_deleted()
    for piece in held.pieces:
        assert not piece.array.any()
        assert piece.array.flags.owndata or not np.shares_memory(piece.array, plain)


def test_an_array_that_was_given_away() -> None:
    array = jnp.zeros(3)
    array.delete()
    with pytest.raises(ValueError, match="a/b was donated to a step"):
        snapshot({"a": {"b": array}})
