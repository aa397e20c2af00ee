"""A stream of image–text pairs: a function of (index, settings, step), and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.images import LIMITS, Limits
from barrow.stream.batches import Batches
from barrow.stream.order import Order
from barrow.stream.pairs.batch import PairBatch
from barrow.stream.pairs.collate import PairCollate
from barrow.stream.pairs.index import PairIndex, open_index
from barrow.stream.pairs.placing import place_rows
from barrow.stream.pairs.saved import check_index, read_saved, save_pairs
from barrow.stream.pairs.settings import CaptionKind, CropKind, PairSettings
from barrow.stream.pairs.source import PairRows
from barrow.stream.pairs.texts import TextEncoder
from barrow.stream.prefetch import Prefetch
from barrow.stream.schedule import Mixture, constant
from barrow.stream.views.numpy import numpy_view

if TYPE_CHECKING:
    from jax.sharding import Sharding


class PairStream:
    """Batches of image–text pairs in a shuffled order, mixed from the sources of an index.

    `stream.batch(step)` depends on the index, the texts' encoder, the settings and the step alone.
    Every source is read through before any of its pairs comes again.
    """

    def __init__(
        self,
        index: PairIndex | str | os.PathLike[str],
        *,
        texts: TextEncoder,
        seed: int,
        batch: int,
        resolution: int,
        mixture: Mixture | None = None,
        crop: CropKind = "random",
        min_area: float = 1.0,
        background: tuple[int, int, int] | None = None,
        caption: CaptionKind = "random",
        templates: tuple[str, ...] = (),
        limits: Limits = LIMITS,
        threads: int | None = None,
    ) -> None:
        """`mixture` is by the names of the index's sources; all of them as they are without one.
        `threads` decode, one for each core by default. The rest is as in `PairSettings`.
        """
        opened = _opened(index)
        mixture = natural_mixture(opened) if mixture is None else mixture
        settings = PairSettings(
            seed=seed,
            schedule=constant(seq_len=1, batch=batch, mixture=mixture),
            resolution=resolution,
            crop=crop,
            min_area=min_area,
            background=background,
            caption=caption,
            templates=tuple(templates),
        )
        self._build(opened, settings, texts, limits, threads)

    @classmethod
    def from_settings(
        cls,
        index: PairIndex | str | os.PathLike[str],
        settings: PairSettings,
        *,
        texts: TextEncoder,
        limits: Limits = LIMITS,
        threads: int | None = None,
    ) -> PairStream:
        """The stream of some settings."""
        stream = cls.__new__(cls)
        stream._build(_opened(index), settings, texts, limits, threads)
        return stream

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        texts: TextEncoder,
        index: PairIndex | str | os.PathLike[str] | None = None,
        threads: int | None = None,
    ) -> PairStream:
        """A stream that was saved; `index` says where its index lies now, if it was moved."""
        saved = read_saved(path)
        opened = _opened(saved.index if index is None else index)
        check_index(saved, opened, texts, name=str(path))
        return cls.from_settings(opened, saved.settings, texts=texts, threads=threads)

    def _build(
        self,
        index: PairIndex,
        settings: PairSettings,
        texts: TextEncoder,
        limits: Limits,
        threads: int | None,
    ) -> None:
        for phase in settings.schedule.phases:
            phase.mixture.check(index.sizes)
        self.index = index
        self.settings = settings
        self.texts = texts
        order = Order.of_items(settings.seed, settings.schedule, index.sizes)
        self.collate = PairCollate(index, settings, texts, limits, threads)
        self.batches: Batches[npt.NDArray[np.int64], PairBatch] = Batches(
            order, PairRows(index, texts.context), self.collate
        )

    def __reduce__(self) -> tuple[Callable[..., PairStream], tuple[Any, ...]]:
        told = self.collate.limits, self.collate.threads
        return _rebuild, (self.index, self.settings, self.texts, *told)

    def __repr__(self) -> str:
        steps = "endless" if self.num_steps is None else f"{self.num_steps:,} steps"
        batch = self.settings.schedule.phases[0].batch
        return (
            f"<barrow.stream.pairs.PairStream of {str(self.index.folder)!r}: {batch} pairs a step, "
            f"{self.settings.resolution} pixels; {steps}>"
        )

    @property
    def order(self) -> Order:
        """Which pairs each step has."""
        return self.batches.order

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read, a last partial batch included; None if never."""
        return self.batches.num_steps

    def shape(self, step: int) -> tuple[int, int]:
        """Pairs of the global batch of a step, and ids of a text."""
        return self.batches.shape(step)

    def shapes(self, step: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays of the global batch, by name."""
        rows, context = self.shape(step)
        size = self.settings.resolution
        return {"images": (rows, size, size, 3), "texts": (rows, context), "mask": (rows,)}

    def pairs(self, step: int) -> npt.NDArray[np.int64]:
        """The numbers of the pairs of a step, −1 for padding; nothing is read."""
        return self.batches.samples(step)

    def batch(
        self,
        step: int,
        *,
        rank: int | None = None,
        of: int | None = None,
        rows: slice | None = None,
    ) -> PairBatch:
        """The batch of a step, or the part that rank `rank` of `of`, or a slice, asks for.

        Only that part is read and decoded. An image that cannot be used raises `BadImage`.
        """
        return self.batches.batch(step, rank=rank, of=of, rows=rows)

    def arrays(self, step: int, rows: slice) -> dict[str, npt.NDArray[Any]]:
        """The arrays of some rows, by name."""
        return self.batch(step, rows=rows).arrays()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the settings, and which index and encoder they are for, as JSON."""
        save_pairs(path, self.index, self.texts, self.settings)

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step as global JAX arrays by name, laid out by a sharding of rows."""
        return place_rows(self, step, sharding)

    def prefetch(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        depth: int = 2,
        threads: int = 1,
        rank: int | None = None,
        of: int | None = None,
        place: Sharding | None = None,
    ) -> Prefetch[Any]:
        """(step, batch) from a step on, prepared ahead on threads.

        With `place`, a JAX sharding of rows, a batch is a dict of global arrays; every process
        reads the rows of its own devices.
        """
        stop = self.batches.stop(start, stop)
        if place is not None and (rank is not None or of is not None):
            raise ValueError("the sharding says who has which rows; leave out rank and of")

        def make(step: int) -> Any:
            if place is not None:
                return self.place(step, place)
            return self.batch(step, rank=rank, of=of)

        return Prefetch(make, start=start, stop=stop, depth=depth, threads=threads)

    def numpy(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, PairBatch]]:
        """(step, batch) from a step on, each made when it is asked for."""
        return numpy_view(self, start, self.batches.stop(start, stop))


def natural_mixture(
    index: PairIndex, *, max_epochs: dict[str, float] | float | None = None
) -> Mixture:
    """All sources in proportion to their pairs, without end unless `max_epochs` says so."""
    weights = {name: float(size) for name, size in index.sizes.items() if size}
    if not weights:
        raise ValueError(f"the index at {index.folder} has no pairs; there is nothing to read")
    return Mixture(weights=weights, max_epochs=max_epochs)


def _opened(index: PairIndex | str | os.PathLike[str]) -> PairIndex:
    return index if isinstance(index, PairIndex) else open_index(index)


def _rebuild(
    index: PairIndex,
    settings: PairSettings,
    texts: TextEncoder,
    limits: Limits,
    threads: int | None,
) -> PairStream:
    return PairStream.from_settings(index, settings, texts=texts, limits=limits, threads=threads)
