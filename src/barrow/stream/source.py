"""The protocols of a stream: `Source`, `Collate`, and the `Data` that have both.

An order gives the rows of a step, as numbers. A source turns these numbers into samples: spans of
tokens, image–text pairs, labelled rows, pairs of answers. A collate turns samples into arrays. The
three are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from barrow.stream.order.order import Order, Rows
from barrow.stream.part import Part


class Sliceable(Protocol):
    """Samples that can be sliced by rows: a list, an array, spans."""

    def __getitem__(self, rows: slice, /) -> Any: ...


class Arrays(Protocol):
    """A batch."""

    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """What goes to a device, by name; the first dimension is rows."""
        ...


Samples_co = TypeVar("Samples_co", bound=Sliceable, covariant=True)
Samples_contra = TypeVar("Samples_contra", contravariant=True)
Made_co = TypeVar("Made_co", bound=Arrays, covariant=True)


class Source(Protocol[Samples_co]):
    """Rows of an order to samples."""

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Columns of a batch, the same for every part of it.

        `seq_len` is the schedule's, `rows` gives all rows of the global batch.
        """
        ...

    def samples(self, rows: Rows) -> Samples_co:
        """The samples of rows, in order; a row of padding has domain −1."""
        ...


class Collate(Protocol[Samples_contra, Made_co]):
    """Samples to arrays."""

    def __call__(self, samples: Samples_contra, part: Part, /) -> Made_co:
        """The arrays of a part of a batch, whose rows the samples are; there may be none."""
        ...


class Data(Protocol[Made_co]):
    """Opened data and their settings: all that a stream is made of. A frozen dataclass.

    `at_once` is the number of rows whose samples may be made, and remembered, together: 1 where a
    sample is costly, many where it only describes what is to be read. `has_columns` says whether
    the collate makes a part of a batch's columns; otherwise it gets whole rows only.
    """

    @property
    def at_once(self) -> int: ...

    @property
    def has_columns(self) -> bool: ...

    @property
    def settings(self) -> DataSettings:
        """What it was opened with."""
        ...

    @property
    def folder(self) -> Path:
        """Where it is."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """Hashes, by what they are of, that batches depend on beside the settings."""
        ...

    @property
    def order(self) -> Order: ...

    @property
    def source(self) -> Source[Any]: ...

    @property
    def collate(self) -> Collate[Any, Made_co]: ...

    def explain(self, samples: Any, part: Part, /) -> list[Any]:
        """What samples are, one after another, without reading them. Each has a `number`."""
        ...

    def places(self, number: int, /) -> tuple[int, list[tuple[int, int]]]:
        """The domain of what has a number, and where the order has it: [first, last) of items."""
        ...


class DataSettings(Protocol):
    """Settings that open data: a frozen dataclass, of barrow or of a user."""

    def open(self, *where: Any, **options: Any) -> Data[Any]:
        """The data in a folder. `options` are not settings: a tokenizer, a cache."""
        ...
