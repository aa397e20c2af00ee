"""Batches of pairs on a mesh: each process reads and decodes the rows of its own devices."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from barrow.errors import MissingExtra

if TYPE_CHECKING:
    from jax.sharding import Sharding


class Rowed(Protocol):
    """What placing needs of a stream: arrays by name whose first dimension is rows."""

    def shapes(self, step: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array of the global batch."""
        ...

    def arrays(self, step: int, rows: slice) -> dict[str, npt.NDArray[Any]]:
        """The arrays of some rows."""
        ...


def place_rows(stream: Rowed, step: int, sharding: Sharding) -> dict[str, Any]:
    """The batch of a step as global arrays by name, laid out by a sharding of rows.

    Rows that several devices of this process hold are made once; those of other processes' devices
    are not made here.
    """
    try:
        import jax
    except ImportError:
        raise MissingExtra("JAX", "train", "placing batches on a mesh") from None

    @cache
    def part(first: int, last: int) -> dict[str, npt.NDArray[Any]]:
        return stream.arrays(step, slice(first, last))

    def take(name: str, size: int, index: tuple[slice, ...]) -> npt.NDArray[Any]:
        rows, *rest = index
        first, last, _ = rows.indices(size)
        return np.asarray(part(first, last)[name][(slice(None), *rest)])

    return {
        name: jax.make_array_from_callback(shape, sharding, partial(take, name, shape[0]))
        for name, shape in stream.shapes(step).items()
    }
