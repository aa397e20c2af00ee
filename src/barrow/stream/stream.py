"""A stream of batches: a function of (data, settings, step) only."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from barrow.stream.batch import Batch
from barrow.stream.order.order import Order, Rows
from barrow.stream.order.schedule import Phase
from barrow.stream.part import Part, part_of
from barrow.stream.prefetch import Prefetch
from barrow.stream.saved import Saved
from barrow.stream.settings import OrderSettings, StreamSettings
from barrow.stream.source import Arrays, Data, Sliceable, Source

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.stream.store import Store
    from barrow.tokens import Tokenizer

Made = TypeVar("Made", bound=Arrays)
Samples = TypeVar("Samples", bound=Sliceable)


class Stream(Generic[Made]):
    """Batches of data in a shuffled order, mixed from their domains.

    `stream.batch(step)` depends only on the data, their settings and the step. So it is the same on
    any number of ranks and after any restart, steps can be read in any order, and the only state to
    save is the step.
    """

    @overload
    def __init__(self, data: Data[Made]) -> None: ...

    @overload
    def __init__(
        self: Stream[Batch],
        data: Store | str | os.PathLike[str],
        *,
        tokenizer: Tokenizer | None = None,
        cache: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> None: ...

    def __init__(self, data: Any, **settings: Any) -> None:
        """Data of any kind, opened; or a token store, with what `StreamSettings` has."""
        if not hasattr(data, "collate"):
            opened = {name: settings.pop(name, None) for name in ("tokenizer", "cache")}
            data = StreamSettings(**settings).open(data, **opened)
        elif settings:
            raise TypeError(f"data already has its settings; leave out {', '.join(settings)}")
        self.data: Data[Made] = data
        self._blocks = Blocks(data.order, data.source, at_once=data.at_once)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        folder: Any = None,
        *,
        trust: Collection[str] = (),
        **options: Any,
    ) -> Stream[Any]:
        """A stream that was saved; `folder` is the new place of its data, if they were moved.

        `options` are those of opening such data: `texts` of pairs, for example.
        """
        saved = Saved.read(path, trust=trust)
        data = saved.settings.open(saved.folder if folder is None else folder, **options)
        saved.check(data, name=str(path))
        return Stream(data)

    def __reduce__(self) -> tuple[type[Stream[Any]], tuple[Any]]:
        return Stream, (replace(cast("Any", self.data)),)  # without what was computed

    def __repr__(self) -> str:
        phases = self.order.schedule.phases
        shapes = ", ".join(f"{p.batch}×{p.seq_len} from step {p.start}" for p in phases)
        steps = "endless" if self.num_steps is None else f"{self.num_steps:,} steps"
        kind = type(self.data).__name__
        return f"<barrow.stream.Stream of {kind} {str(self.data.folder)!r}: {shapes}; {steps}>"

    @property
    def settings(self) -> Any:
        """Those of the data, with their schedule resolved."""
        given = self.data.settings
        if isinstance(given, OrderSettings):
            return given.with_schedule(self.order.schedule)
        return given

    @property
    def order(self) -> Order:
        """Which rows each step has."""
        return self.data.order

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read, a last partial batch included; None if never."""
        return self.order.num_steps

    @property
    def has_columns(self) -> bool:
        """Whether a batch can be read by columns."""
        return self.data.has_columns

    def shape(self, step: int) -> tuple[int, int]:
        """Rows and columns of the global batch of a step."""
        seq_len = self.order.seq_len(step)
        width = self.data.source.width(seq_len, lambda: self._blocks.rows(step))
        return self.order.batch(step), width

    def samples(self, step: int) -> Any:
        """The samples in the rows of a step: spans of tokens, numbers of pairs."""
        return self._blocks.samples(step, range(self.order.batch(step)))

    def batch(
        self,
        step: int,
        *,
        rank: int | None = None,
        of: int | None = None,
        rows: slice | None = None,
        columns: slice | None = None,
    ) -> Made:
        """The batch of a step, or the part of rank `rank` of `of`, or of slices.

        Only that part is computed and read. Ranks have equal parts, in order.
        """
        num_rows, width = self.shape(step)
        if columns is not None and not self.has_columns:
            raise ValueError(f"a batch of {type(self.data).__name__} has no columns; pass rows")
        wanted = part_of(num_rows, rows, what="rows", rank=rank, of=of)
        part = Part(step, wanted, part_of(width, columns, what="columns"), width)
        return self.data.collate(self._blocks.samples(step, wanted), part)

    def explain(self, step: int, *, row: int | None = None) -> list[Any]:
        """What a step saw, by row and from left to right; of one row only, if one is given."""
        num_rows, width = self.shape(step)
        if row is not None and not 0 <= row < num_rows:
            raise ValueError(f"row must be from 0 to {num_rows - 1} at step {step}, got {row}")
        rows = range(num_rows) if row is None else range(row, row + 1)
        samples = self._blocks.samples(step, rows)
        return self.data.explain(samples, Part(step, rows, range(width), width))

    def steps_of(self, number: int, *, until: int | None = None) -> list[Any]:
        """The steps before `until` that saw a document, or a pair, by its number, in their order.

        Without `until`: all steps of a stream that ends, else those until all of its domain was
        read once.
        """
        order, (domain, places) = self.order, self.data.places(number)
        if until is None:
            until = self.num_steps or order.first_epoch(order.domains[domain])
            # From the last phase on nothing changes: a domain that is not read then never is.
            until = until or order.schedule.phases[-1].start
        found = {
            seen
            for first, last in places
            for sighting in order.seen(domain, first, last, until_step=until)
            for seen in self.explain(sighting.step, row=sighting.row)
            if seen.number == number
        }
        return sorted(found)

    def then(self, phase: Phase) -> Stream[Made]:
        """The stream with one more phase; steps before it are unchanged."""
        settings = self.settings.with_schedule(self.order.schedule.then(phase))
        return Stream(replace(cast("Any", self.data), settings=settings))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the settings, and which data they are for, as JSON."""
        self.saved().write(path)

    def saved(self) -> Saved:
        """What is saved."""
        data = self.data
        return Saved(str(data.folder.resolve()), dict(data.identity), self.settings)

    # Iteration, here and in other frameworks -----------------------------------------------------

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

        With `place`, a JAX sharding, a batch is a dict of global arrays; every process makes the
        parts of its own devices.
        """
        if place is not None and (rank is not None or of is not None):
            raise ValueError("the sharding assigns the rows; leave out rank and of")

        def make(step: int) -> Any:
            if place is not None:
                return self.place(step, place)
            return self.batch(step, rank=rank, of=of)

        stop = self._stop(start, stop)
        return Prefetch(make, start=start, stop=stop, depth=depth, threads=threads)

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step as global JAX arrays by name, with a sharding."""
        from barrow.stream.placing import place_batch

        return place_batch(self, step, sharding)

    def numpy(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        rank: int | None = None,
        of: int | None = None,
    ) -> Iterator[tuple[int, Made]]:
        """(step, batch) from a step on, each made when it is requested."""
        stop = self._stop(start, stop)
        steps = itertools.count(start) if stop is None else range(start, stop)
        return ((step, self.batch(step, rank=rank, of=of)) for step in steps)

    def jax(
        self, sharding: Sharding, start: int = 0, stop: int | None = None, *, depth: int = 2
    ) -> Prefetch[Any]:
        """(step, dict of global JAX arrays) from a step on, prepared ahead."""
        return self.prefetch(start, stop, depth=depth, place=sharding)

    def torch(self, start: int = 0, *, rank: int | None = None, of: int | None = None) -> Any:
        """A `torch.utils.data.IterableDataset` of dicts of tensors, one for each step."""
        from barrow.stream.views.torch import TorchView

        return TorchView(self, start=start, rank=rank, of=of)

    def tf(self, start: int = 0, *, rank: int | None = None, of: int | None = None) -> Any:
        """A `tf.data.Dataset` of dicts of tensors, one for each step."""
        from barrow.stream.views.tf import tf_view

        return tf_view(self, start, rank=rank, of=of)

    def _stop(self, start: int, stop: int | None) -> int | None:
        """The step to end before, from `start` on: the one given, but never after the last."""
        if start < 0:
            raise ValueError(f"start must be ≥ 0, got {start}")
        return min((end for end in (stop, self.num_steps) if end is not None), default=None)


class Blocks(Generic[Samples]):
    """The rows of an order and their samples, made for up to `at_once` rows at a time.

    Most of the cost is fixed, so it is shared by the steps of a block. A cache, not state. A block
    is some steps of one phase. If a batch is half of `at_once` or more, there are no
    blocks, and only the requested rows are made.
    """

    def __init__(self, order: Order, source: Source[Samples], *, at_once: int) -> None:
        self._order = order
        self._source = source
        self._at_once = at_once
        self._rows = lru_cache(maxsize=4)(order.rows_of_steps)
        self._samples = lru_cache(maxsize=4)(
            lambda first, last: source.samples(self._rows(first, last))
        )

    def rows(self, step: int) -> Rows:
        """All rows of a step."""
        batch = self._order.batch(step)
        if (block := self._block(step, batch)) is None:
            return self._order.rows(step)
        at = (step - block[0]) * batch
        return self._rows(*block)[at : at + batch]

    def samples(self, step: int, wanted: range) -> Samples:
        """The samples of some rows of a step."""
        batch = self._order.batch(step)
        if (block := self._block(step, batch)) is None:
            return self._source.samples(self._order.rows(step, wanted.start, wanted.stop))
        at = (step - block[0]) * batch
        part: Samples = self._samples(*block)[at + wanted.start : at + wanted.stop]
        return part

    def _block(self, step: int, batch: int) -> tuple[int, int] | None:
        """The steps that are made together with a step, from one up to another."""
        many = self._at_once // batch
        if many < 2:
            return None
        start, stop = self._order.phase_steps(step)
        first = start + (step - start) // many * many
        return first, first + many if stop is None else min(first + many, stop)
