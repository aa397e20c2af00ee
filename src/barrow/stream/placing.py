"""A batch on a mesh: each device's part is computed by the process that has the device."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from barrow.errors import MissingExtra
from barrow.stream.batch import PLACED, Batch

if TYPE_CHECKING:
    from jax.sharding import Sharding


class Batched(Protocol):
    """What placing needs of a stream."""

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of a step."""
        ...

    def batch(self, step: int, *, rows: slice | None, columns: slice | None) -> Batch:
        """A part of the batch of a step."""
        ...


def place_batch(stream: Batched, step: int, sharding: Sharding) -> dict[str, Any]:
    """The batch of a step as global arrays [rows, columns] by name, laid out by a sharding.

    Any sharding of rows and columns will do. Parts that several devices of this process hold are
    computed once; parts of other processes' devices are not computed here.
    """
    try:
        import jax
    except ImportError:
        raise MissingExtra("JAX", "train", "placing batches on a mesh") from None
    shape = stream.shape(step)

    @cache
    def part(first_row: int, last_row: int, first_column: int, last_column: int) -> Batch:
        rows, columns = slice(first_row, last_row), slice(first_column, last_column)
        return stream.batch(step, rows=rows, columns=columns)

    def take(name: str, index: tuple[slice, ...]) -> Any:
        rows, columns = (s.indices(size)[:2] for s, size in zip(index, shape, strict=True))
        return getattr(part(*rows, *columns), name)

    return {
        name: jax.make_array_from_callback(shape, sharding, partial(take, name)) for name in PLACED
    }
