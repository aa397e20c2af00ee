"""What JAX's transformations make of a kernel: see also `test_short_attention`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.over_heads import over_heads


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
