"""Arrays from the disk onto devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.errors import MissingExtra
from barrow.weights.tensors import Array

if TYPE_CHECKING:
    import jax


def place(array: Array, *, sharding: Any = None, dtype: Any = None) -> jax.Array:
    """A JAX array of the elements of `array`, converted to `dtype` if one is given.

    With a `sharding`, each device is given its slice and nothing else is read: of a mapped file
    only the pages of this process's slices are touched. The result never shares memory with it.
    """
    try:
        import jax
    except ImportError:
        raise MissingExtra("JAX", "train", "placing an array on a device") from None

    if sharding is None:
        return jax.numpy.asarray(np.array(array, dtype=dtype))
    return jax.make_array_from_callback(
        array.shape, sharding, lambda index: np.array(array[index], dtype=dtype)
    )
