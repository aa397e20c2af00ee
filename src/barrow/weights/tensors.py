"""Named arrays that are read on access.

Every reader of this package gives its arrays as `Tensors`: shapes and types are known at once, the
elements are read, decoded or mapped from the disk at each access and not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import nearest

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Packed:
    """Rows of a matrix as a file stores them, uint8 [rows, bytes], and the name of the type."""

    kind: str
    rows: Callable[[], Array]


@dataclass(frozen=True)
class LazyTensor:
    """An array's shape and type, and how to get its elements.

    `packed` are the bytes of a matrix that a file stores in fewer bits.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], Array] = field(compare=False, repr=False)
    packed: Packed | None = field(default=None, compare=False, repr=False)

    @property
    def num_elements(self) -> int:
        """Elements of the array."""
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        """Bytes of the array once read."""
        return self.num_elements * self.dtype.itemsize

    def then(
        self,
        change: Callable[[Array], Array],
        *,
        shape: tuple[int, ...] | None = None,
        by_rows: bool = False,
    ) -> LazyTensor:
        """The tensor rearranged when it is read; its type stays, and its shape if none is given.

        `by_rows`: whole rows change places, which packed ones can too.
        """
        packed = None
        if by_rows and self.packed is not None:
            stored = self.packed
            packed = Packed(stored.kind, lambda: change(stored.rows()))
        return LazyTensor(
            self.shape if shape is None else shape, self.dtype, lambda: change(self.read()), packed
        )


class Tensors(Mapping[str, Array]):
    """Arrays by name, lazily; in the order in which their file gives them."""

    def __init__(
        self, entries: Mapping[str, LazyTensor], *, metadata: Mapping[str, str] | None = None
    ) -> None:
        self._entries = dict(entries)
        self.metadata: Mapping[str, str] = dict(metadata or {})

    def __getitem__(self, name: str) -> Array:
        return self.entry(name).read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:  # the default would read the array
        return name in self._entries

    def __repr__(self) -> str:
        return f"<{len(self)} tensors, {self.num_bytes:,} bytes>"

    def entry(self, name: str) -> LazyTensor:
        """Shape and type of an array, without reading it."""
        try:
            return self._entries[name]
        except KeyError:
            raise KeyError(f"no tensor {name!r}; {nearest(name, self._entries)}") from None

    @property
    def num_elements(self) -> int:
        """Elements of all arrays together."""
        return sum(entry.num_elements for entry in self._entries.values())

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays together, once read."""
        return sum(entry.num_bytes for entry in self._entries.values())


def lazy(tensors: Mapping[str, Any]) -> Tensors:
    """Arrays of any kind (NumPy, JAX) as `Tensors`; those that are lazy stay so."""
    if isinstance(tensors, Tensors):
        return tensors
    return Tensors({name: _of_array(array) for name, array in tensors.items()})


def _of_array(array: Any) -> LazyTensor:
    if not (hasattr(array, "shape") and hasattr(array, "dtype")):
        array = np.asarray(array)
    return LazyTensor(tuple(array.shape), np.dtype(array.dtype), lambda: np.asarray(array))
