"""The two seams of a stream: what stands in a row, and how rows become arrays.

An order says which rows a step has, as numbers. A source turns these numbers into samples, whatever
they are: spans of tokens, image–text pairs, labelled rows, pairs of answers. A collate turns
samples into arrays. None of the three knows the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from barrow.stream.order import Rows
from barrow.stream.part import Part


class Sliceable(Protocol):
    """Samples of rows, of which those of some rows can be taken: a list, an array, spans."""

    def __getitem__(self, rows: slice, /) -> Any: ...


Samples_co = TypeVar("Samples_co", bound=Sliceable, covariant=True)
Samples_contra = TypeVar("Samples_contra", contravariant=True)
Made_co = TypeVar("Made_co", covariant=True)


class Source(Protocol[Samples_co]):
    """Rows of an order to samples."""

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        """Columns of a batch, the same for whatever part of it is asked for.

        `seq_len` is what the schedule says, `rows` gives all rows of the global batch.
        """
        ...

    def samples(self, rows: Rows) -> Samples_co:
        """The samples of rows, in their order; a row of padding has domain −1."""
        ...


class Collate(Protocol[Samples_contra, Made_co]):
    """Samples to arrays."""

    def __call__(self, samples: Samples_contra, part: Part, /) -> Made_co:
        """The arrays of a part of a batch, whose rows the samples are."""
        ...
