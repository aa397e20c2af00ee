"""Names arrays of which there are more and more, and the line that makes them.

Between two steps of a run the same arrays are alive. A shape whose number grows from look to look
is held by somebody who should let go. JAX remembers for each array where it was made, so this
costs a walk over the arrays that are alive. For memory of the host (NumPy), Python must trace its
allocations, which is slow: start it with PYTHONTRACEMALLOC=5.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import numpy as np

# A leak grows at every one of so many looks in a row, by so many bytes in all.
_LOOKS = 5
_LEAST = 1 << 16
_OTHERS = tuple(str(Path(str(one.__file__)).parent) for one in (jax, np))


class Leaks:
    """Looks at what is alive, once for each line of the log."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, Mapping[Hashable, int]]] = deque(maxlen=_LOOKS + 1)
        self._named: set[Hashable] = set()

    def look(self, step: int) -> list[str]:
        """Leaks that were not named before, in words."""
        try:
            return self._look(step)
        except Exception:  # noqa: BLE001 - such as an array that another thread freed meanwhile
            return []

    def _look(self, step: int) -> list[str]:
        alive = jax.live_arrays()
        sizes: Counter[Hashable] = Counter()
        for x in alive:
            if not x.is_deleted():
                sizes[_kind(x)] += x.nbytes
        if tracemalloc.is_tracing():
            for one in tracemalloc.take_snapshot().statistics("traceback"):
                sizes[one.traceback] += one.size
        self._seen.append((step, sizes))
        return [self._words(kind, alive) for kind in self._growing()]

    def _growing(self) -> Iterator[Hashable]:
        if len(self._seen) <= _LOOKS:
            return
        sizes = [seen for _, seen in self._seen]
        for kind, last in sizes[-1].items():
            held = [seen.get(kind, 0) for seen in sizes]
            is_rising = all(after > before for before, after in pairwise(held))
            if is_rising and last - held[0] >= _LEAST and kind not in self._named:
                self._named.add(kind)
                yield kind

    def _words(self, kind: Hashable, alive: list[Any]) -> str:
        (first, before), (last, now) = self._seen[0], self._seen[-1]
        grown = now[kind] - before.get(kind, 0)
        if isinstance(kind, tracemalloc.Traceback):
            what = "memory of the host"
            where = _line([(one.filename, one.lineno) for one in reversed(kind)])
        else:
            arrays = [x for x in alive if not x.is_deleted() and _kind(x) == kind]
            what = f"arrays {kind}, {len(arrays):,} of which are alive"
            where = Counter(map(_made_at, arrays)).most_common(1)[0][0]
        return (
            f"a leak: {grown / 2**20:,.1f} MiB more from step {first} to {last} of {what}, made at "
            f"{where}"
        )


def _kind(x: Any) -> str:
    return f"{x.dtype}[{','.join(map(str, x.shape))}]"


def _made_at(x: Any) -> str:
    frames = getattr(x.traceback, "frames", ())
    return _line([(frame.file_name, frame.line_num) for frame in frames])


def _line(frames: Sequence[tuple[str, int]]) -> str:
    """The innermost line outside of JAX and NumPy; frames start with the innermost."""
    own = [frame for frame in frames if not frame[0].startswith(_OTHERS)]
    name, number = (own or frames or [("an unknown file", 0)])[0]
    return f"{name}:{number}"
