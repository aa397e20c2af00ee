"""What JAX's transformations make of a kernel: see also `test_short_attention`."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from barrow.nn.attention.over_heads import over_heads


def test_a_mapped_dimension_joins_the_batch() -> None:
    shapes = []

    def kernel(x: jax.Array, lengths: jax.Array) -> tuple[jax.Array, ...]:
        shapes.append((x.shape, lengths.shape))
        return (x * lengths[:, None, None, None],)

    x = jnp.arange(5 * 2 * 3 * 2 * 4.0).reshape(5, 2, 3, 2, 4)
    lengths = jnp.asarray([1, 10])
    (found,) = jax.vmap(over_heads(kernel), in_axes=(0, None))(x, lengths)
    np.testing.assert_array_equal(found, x * lengths[None, :, None, None, None])
    assert shapes[-1] == ((10, 3, 2, 4), (10,))


def test_a_split_program_tells_its_kernel() -> None:
    """Programs kept on disk are found by their text: without the contents of a kernel, which are no
    part of it, another kernel's program would be taken.
    """
    mesh = Mesh(np.asarray(jax.devices()[:8]), ("data",))
    x = jax.device_put(jnp.ones((8, 3, 2, 4)), NamedSharding(mesh, PartitionSpec("data")))

    def program(factor: float) -> str:
        def kernel(x: jax.Array) -> tuple[jax.Array, ...]:
            return (x * factor,)

        text = jax.jit(over_heads(kernel)).lower(x).as_text()
        assert "CustomSPMDPartitioning" in text
        return re.sub(r'backend_config = "\d+"', "", text)

    assert program(2.0) == program(2.0)
    assert program(2.0) != program(3.0)
