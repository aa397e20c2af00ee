"""Functions over arrays, compiled on the first call and cached for the next process.

numba takes a third of a second and 100 MB to import, so nothing here imports it before a compiled
function is called: settings that name filters, and workers that only read files, do not need it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

from barrow.errors import MissingExtra

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Waiting:
    """A function that is compiled on its first call."""

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        functools.update_wrapper(self, function)
        self._make = make
        self._made: Any = None

    def made(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __call__(self, *arguments: Any) -> Any:
        return self.made()(*arguments)


def compiled(function: _Function) -> _Function:
    """The function as machine code that runs without the GIL.

    Indices should be np.uint64: signed ones cost twice as much, and mixing both gives floats.
    The cache is invalidated when the function's own file changes, not when a function it calls
    does: touch its file then.
    """

    def make() -> Any:
        numba = _import("numba")
        # Compiled code calls compiled code only: what this one calls is compiled first.
        names = function.__globals__
        for name in function.__code__.co_names:
            if isinstance(names.get(name), _Waiting):
                names[name] = names[name].made()
        return numba.njit(nogil=True, cache=True)(function)

    return cast(_Function, _Waiting(function, make))


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra("numba", "corpus", "refining a corpus") from None


def _trailing_zeros(value: int) -> int:
    """Zero bits below the lowest one, of 64; 64 if there is none."""
    return (value & -value).bit_length() - 1 if value else 64


trailing_zeros: Callable[[Any], Any] = _Waiting(
    _trailing_zeros, lambda: _import("numba.cpython.unsafe.numbers").trailing_zeros
)
