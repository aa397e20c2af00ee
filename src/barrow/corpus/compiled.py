"""Functions over arrays, compiled when they are first called, and kept for the next process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from barrow.errors import MissingExtra

try:
    import numba
    from numba.cpython.unsafe.numbers import trailing_zeros
except ImportError:
    raise MissingExtra("numba", "corpus", "refining a corpus") from None

__all__ = ["compiled", "trailing_zeros"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """The function as machine code that runs without the interpreter lock.

    Indices should be np.uint64: signed ones cost twice as much, and the two together give floats.
    """
    return cast(_Function, numba.njit(nogil=True, cache=True)(function))
