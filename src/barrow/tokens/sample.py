"""A sample of a corpus to train a tokenizer on: so many bytes, by domain weight.

Every document has a place from 0 to 65,535, computed from its number and the seed. Of each domain
the documents below some place are taken, so that their bytes come nearest to the domain's part. The
sample depends on nothing else, and can be read twice without being stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError, nearest

if TYPE_CHECKING:
    from barrow.archive import Archive

_BINS = 1 << 16
UNKNOWN = "(none)"


@dataclass(frozen=True)
class Sample:
    """Which documents are taken: those of a domain whose place is below its cut.

    `sizes` are the bytes of text that each domain has, `taken` those that are in the sample.
    """

    seed: int
    by: str
    cuts: Mapping[str, int]
    sizes: Mapping[str, int]
    taken: Mapping[str, int]

    def texts(
        self, archive: Archive, *, on_progress: Callable[[int], None] | None = None
    ) -> Iterator[str]:
        """The texts of the sample, in the archive's order."""
        for block, names, where in _walk(archive, self.by, self.seed):
            for i, (name, place) in enumerate(zip(names, where.tolist(), strict=True)):
                if place < self.cuts.get(name, 0):
                    yield block.text_of(i)
            if on_progress is not None:
                on_progress(block.content_bytes)


def draw_sample(
    archive: Archive,
    *,
    num_bytes: int,
    weights: Mapping[str, float] | None = None,
    seed: int = 0,
    by: str = "pile_set_name",
    on_progress: Callable[[int], None] | None = None,
) -> Sample:
    """Choose about `num_bytes` of text, divided by the `weights` of domains.

    Without weights, domains have the parts they have in the corpus; with them, those without one
    are left out. No document is taken twice: what a small domain lacks is taken from the
    others. `by` is the key of meta that names the domain; dots are for nested keys.
    """
    if num_bytes < 1:
        raise ConfigError(f"num_bytes must be ≥ 1, got {num_bytes}")
    histograms: dict[str, npt.NDArray[np.int64]] = {}
    for block, names, where in _walk(archive, by, seed):
        lengths = (block.offsets[1:] - block.offsets[:-1]).tolist()
        for name, place, length in zip(names, where.tolist(), lengths, strict=True):
            if name not in histograms:
                histograms[name] = np.zeros(_BINS, np.int64)
            histograms[name][place] += length
        if on_progress is not None:
            on_progress(block.content_bytes)
    sizes = {name: int(histograms[name].sum()) for name in sorted(histograms)}
    if not sum(sizes.values()):
        raise ConfigError("the corpus has no text to train on")
    parts = _parts(sizes, _checked(weights, sizes), num_bytes)
    cuts, taken = {}, {}
    for name, part in parts.items():
        cuts[name], taken[name] = _cut(histograms[name], part)
    return Sample(seed, by, cuts, sizes, taken)


def _checked(weights: Mapping[str, float] | None, sizes: Mapping[str, int]) -> dict[str, float]:
    if weights is None:
        return dict(sizes)
    for name, weight in weights.items():
        if name not in sizes:
            hint = nearest(name, sizes)
            raise ConfigError(f"the corpus has no domain {name!r}; {hint}")
        if not 0 <= weight < float("inf"):
            raise ConfigError(f"the weight of {name} must be ≥ 0, got {weight}")
        if weight and not sizes[name]:
            raise ConfigError(f"{name} has a weight, but no text")
    if not any(weights.values()):
        raise ConfigError("every weight is 0; there is nothing to train on")
    return dict(weights)


def _parts(
    sizes: Mapping[str, int], weights: Mapping[str, float], num_bytes: int
) -> dict[str, float]:
    """Bytes of each domain; what is more than a domain has goes to the others."""
    parts: dict[str, float] = {}
    waiting = {name: weight for name, weight in weights.items() if weight}
    left = float(num_bytes)
    while waiting:
        total = sum(waiting.values())
        full = [name for name in waiting if waiting[name] * left / total >= sizes[name]]
        if not full:
            return parts | {name: weight * left / total for name, weight in waiting.items()}
        for name in full:
            parts[name] = float(sizes[name])
            del waiting[name]
        left = num_bytes - sum(parts.values())
    return parts


def _cut(histogram: npt.NDArray[np.int64], part: float) -> tuple[int, int]:
    """The place below which there are about so many bytes, at least one document; and the bytes."""
    upto = np.concatenate(([0], np.cumsum(histogram)))
    nearest = int(np.abs(upto - part).argmin())
    if not upto[nearest]:
        nearest = int((histogram > 0).argmax()) + 1
    # As early as possible or, when everything is wanted, past the last.
    nearest = _BINS if upto[nearest] == upto[-1] else nearest
    return nearest, int(upto[nearest])


def _walk(
    archive: Archive, by: str, seed: int
) -> Iterator[tuple[Any, list[str], npt.NDArray[np.int64]]]:
    """Blocks with the domain and the place of each document."""
    steps = by.split(".")
    first = 0
    for block in archive.blocks():
        numbers = np.arange(first, first + len(block), dtype=np.uint64)
        first += len(block)
        yield block, [_name_at(meta, steps) for meta in block.metas()], _places(numbers, seed)


def _places(numbers: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.int64]:
    """Numbers below 65,536 that are spread evenly, one for each document (splitmix64)."""
    value = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    value ^= np.uint64(seed * 0xD1B54A32D192ED03 % (1 << 64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = (value ^ (value >> np.uint64(shift))) * np.uint64(factor)
    return ((value ^ (value >> np.uint64(31))) >> np.uint64(48)).astype(np.int64)


def _name_at(meta: Any, steps: list[str]) -> str:
    value = meta
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return UNKNOWN if value is None else str(value)
