"""A batch on a mesh: each process makes the parts of its devices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from barrow.errors import MissingExtra
from barrow.stream.source import Arrays

if TYPE_CHECKING:
    from jax.sharding import Sharding


class Placeable(Protocol):
    """What placing needs of a stream."""

    @property
    def has_columns(self) -> bool:
        """Whether a part of the columns can be requested."""
        ...

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of a step."""
        ...

    def batch(self, step: int, *, rows: slice | None, columns: slice | None) -> Arrays:
        """A part of the batch of a step."""
        ...


def place_batch(stream: Placeable, step: int, sharding: Sharding) -> dict[str, Any]:
    """The batch of a step as global arrays by name, with a sharding.

    Any sharding of rows works, and of rows and columns where the stream has columns. Parts that
    several devices of this process hold are made once.
    """
    try:
        import jax

        from barrow.parallel import fitted
    except ImportError:
        raise MissingExtra("JAX", "train", "placing batches on a mesh") from None
    num_rows, width = stream.shape(step)

    @cache
    def part(rows: tuple[int, int], columns: tuple[int, int] | None) -> Mapping[str, Any]:
        wanted = None if columns is None else slice(*columns)
        return stream.batch(step, rows=slice(*rows), columns=wanted).arrays()

    def take(name: str, index: tuple[slice, ...]) -> npt.NDArray[Any]:
        rows, rest = index[0].indices(num_rows)[:2], index[1:]
        columns = None
        if stream.has_columns:
            columns, rest = rest[0].indices(width)[:2], rest[1:]
            rest = (slice(None), *rest)
        found: npt.NDArray[Any] = part(rows, columns)[name][(slice(None), *rest)]
        return found

    # An empty part gives the other dimensions.
    shapes = {name: (num_rows, *array.shape[1:]) for name, array in part((0, 0), None).items()}
    return {
        name: jax.make_array_from_callback(shape, fitted(sharding, shape), partial(take, name))
        for name, shape in shapes.items()
    }
