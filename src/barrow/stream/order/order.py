"""The order of a run: which tokens of which domain are row r of step s, and the way back.

It is a pure function of the seed, the schedule and the sizes of the domains, independent of stores
and tokens. Every answer is computed; nothing is stored.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError
from barrow.stream.order.cut import Cut
from barrow.stream.order.plan import PlannedPhase, Stretch, compile_plan
from barrow.stream.order.reading import Piece, Reading
from barrow.stream.order.schedule import Schedule
from barrow.stream.order.shuffle import Shuffle
from barrow.stream.order.windows import Windows

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows of a batch: number of the domain, epoch, first token in the domain's own sequence of
    tokens, number of tokens. A row of padding (the end of a last, partial batch) has domain −1 and
    length 0.
    """

    domain: Numbers
    epoch: Numbers
    start: Numbers
    length: Numbers

    def __len__(self) -> int:
        return len(self.domain)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(self.domain[part], self.epoch[part], self.start[part], self.length[part])


@dataclass(frozen=True, order=True)
class Sighting:
    """A row of a step that saw the tokens [start, stop) of a domain, in an epoch."""

    step: int
    row: int
    start: int
    stop: int
    epoch: int


@dataclass(frozen=True)
class Progress:
    """What was read of a domain before a step: rows, tokens, and tokens over its size."""

    rows: int
    tokens: int
    epochs: float


class Order:
    """Rows of every step, for a seed, a schedule and the number of tokens of each domain.

    Domains are numbered in the order of `sizes`.
    """

    def __init__(self, seed: int, schedule: Schedule, sizes: Mapping[str, int]) -> None:
        self._compile(seed, schedule, sizes, chunk=schedule.chunk)

    @classmethod
    def of_items(cls, seed: int, schedule: Schedule, sizes: Mapping[str, int]) -> Order:
        """The order of sources that give each row as one item: `sizes` are numbers of items, a
        row's `start` is the number of its item, and its length is 1.
        """
        for phase in schedule.phases:
            if phase.mixture.kind == "tokens":
                raise ConfigError(
                    "the mixture counts tokens, but this source counts items; use weights or epochs"
                )
        order = cls.__new__(cls)
        order._compile(seed, schedule, sizes, chunk=1)
        return order

    def _compile(
        self, seed: int, schedule: Schedule, sizes: Mapping[str, int], *, chunk: int
    ) -> None:
        for name, size in sizes.items():
            if size < 0:
                raise ValueError(f"domain {name!r}: expected a size of 0 or more, got {size}")
        if not any(sizes.values()):
            raise ValueError("expected at least one domain with tokens; there is nothing to read")
        self.seed = seed
        self.schedule = schedule
        self.sizes = dict(sizes)
        self.domains = tuple(sizes)
        self.chunk = chunk
        cuts = [Cut(size, chunk, chunk) for size in sizes.values()]
        self._shuffle = Shuffle(seed, self.domains, [cut.full for cut in cuts])
        windows = Windows([Reading(cut) for cut in cuts], self._shuffle)
        self.plan = compile_plan(seed, schedule, self.sizes, windows=windows)
        self._starts = [planned.phase.start for planned in self.plan.phases]
        self._firsts = [planned.first for planned in self.plan.phases]
        self._samples = [stretch.first for stretch in self.plan.stretches]

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read; None if that never happens. A last batch that is not full
        counts: its missing rows are padding.
        """
        return self.plan.num_steps

    def seq_len(self, step: int) -> int:
        """The length of a row at a step."""
        return self._planned(step).phase.seq_len

    def batch(self, step: int) -> int:
        """Rows of the global batch at a step."""
        return self._planned(step).phase.batch

    def first_sample(self, step: int) -> int:
        """The number, over the run, of the first row of a step."""
        planned = self._planned(step)
        return planned.first + (step - planned.phase.start) * planned.phase.batch

    def rows(self, step: int, first: int = 0, last: int | None = None) -> Rows:
        """The rows [first, last) of a step; all of them by default."""
        planned = self._planned(step)
        last = planned.phase.batch if last is None else last
        if not 0 <= first <= last <= planned.phase.batch:
            raise ValueError(
                f"step {step} has {planned.phase.batch} rows: expected 0 ≤ first ≤ last ≤ "
                f"{planned.phase.batch}, got [{first}, {last})"
            )
        return self._rows(planned, self.first_sample(step) + first, self.first_sample(step) + last)

    def phase_steps(self, step: int) -> tuple[int, int | None]:
        """The steps of the phase that a step is in: from one, up to another or without end."""
        self._planned(step)
        place = bisect_right(self._starts, step)
        stop = self._starts[place] if place < len(self._starts) else None
        ends = [end for end in (stop, self.num_steps) if end is not None]
        return self._starts[place - 1], min(ends, default=None)

    def rows_of_steps(self, first: int, last: int) -> Rows:
        """All rows of the steps [first, last), which are steps of one phase, one after another."""
        start, stop = self.phase_steps(first)
        if not start <= first < last or (stop is not None and last > stop):
            raise ValueError(
                f"expected steps of one phase, from {start} to {stop}, got [{first}, {last})"
            )
        sample = self.first_sample(first)
        return self._rows(self._planned(first), sample, sample + (last - first) * self.batch(first))

    def _rows(self, planned: PlannedPhase, first: int, last: int) -> Rows:
        domain, row = self._samples_of(first, last)
        zeros = np.zeros(len(domain), np.int64)
        real = domain >= 0
        if real.all():
            spans = planned.windows.spans(domain, row)
            return Rows(domain, spans.epoch, spans.start, spans.length)
        spans = planned.windows.spans(domain[real], row[real])
        out = Rows(domain, zeros, zeros.copy(), zeros.copy())
        out.epoch[real], out.start[real], out.length[real] = spans.epoch, spans.start, spans.length
        return out

    def progress(self, step: int) -> dict[str, Progress]:
        """What was read of each domain before a step; `num_steps` gives the end."""
        if step != self.num_steps:
            self._check(step)
        planned = self._planned_at(step)
        out = {}
        taken = self._rows_before(planned, step)
        for (name, size), rows, reading in zip(
            self.sizes.items(), taken, planned.windows.readings, strict=True
        ):
            tokens = reading.tokens_before(rows)
            out[name] = Progress(rows, tokens, tokens / size if size else 0.0)
        return out

    def first_epoch(self, name: str) -> int | None:
        """The number of steps after which all of a domain has been read once; None if never."""
        return self.steps_for(name, self.sizes[name])

    def steps_for(self, name: str, tokens: int) -> int | None:
        """The least number of steps in which so many tokens of a domain are read; None if they
        never are.
        """
        domain = self.domains.index(name)
        if not self.sizes[name]:
            return None
        readings = self._readings(domain)
        for reading, following in zip(readings, [*readings[1:], None], strict=True):
            rows = reading.rows_for(tokens)
            if following is None or rows <= following.first_row:
                break
        if not rows:
            return 0
        stretch = self._stretch_of(domain, rows - 1)
        if stretch.interleaving is None or not stretch.interleaving.weights[domain]:
            return None
        return self._place(domain, rows - 1)[0] + 1

    def seen(self, domain: int, start: int, stop: int, *, until_step: int) -> list[Sighting]:
        """Rows of the steps before `until_step` that hold tokens [start, stop) of a domain's own
        sequence of tokens, in the order of steps, and the part of it that each holds.
        """
        if not 0 <= domain < len(self.domains):
            raise ValueError(
                f"expected the number of a domain, 0 to {len(self.domains) - 1}, got {domain}"
            )
        name = self.domains[domain]
        size = self.sizes[name]
        if not 0 <= start <= stop <= size:
            raise ValueError(
                f"domain {name!r} has {size} tokens: expected 0 ≤ start ≤ stop ≤ {size}, "
                f"got [{start}, {stop})"
            )
        if until_step < 0:
            raise ValueError(f"until_step must be ≥ 0, got {until_step}")
        planned = self._planned_at(until_step)
        limit = self._rows_before(planned, until_step)[domain]
        if not limit or start == stop:
            return []
        readings = self._readings(domain)
        # An epoch ends before the next begins, so the tokens read give the number begun.
        num_epochs = -(-planned.windows.readings[domain].tokens_before(limit) // size)
        chunks = np.arange(start // self.chunk, (stop - 1) // self.chunk + 1)
        grid = np.repeat(np.arange(num_epochs), len(chunks)), np.tile(chunks, num_epochs)
        places = self._shuffle.places(np.full(len(grid[0]), domain), *grid)
        found = []
        for epoch, chunk, place in zip(*map(np.ndarray.tolist, (*grid, places)), strict=True):
            base = chunk * self.chunk
            offset, end = max(0, start - base), min(self.chunk, stop - base)
            while offset < end:
                piece = _find(readings, epoch, place, offset)
                if piece.row < limit:
                    step, row = self._place(domain, piece.row)
                    parts = base + offset, base + min(end, piece.stop)
                    found.append(Sighting(step, row, *parts, epoch))
                offset = piece.stop
        return sorted(found)

    def _readings(self, domain: int) -> list[Reading]:
        """The readings of a domain, in order, each once."""
        readings = [planned.windows.readings[domain] for planned in self.plan.phases]
        return [r for i, r in enumerate(readings) if not i or r is not readings[i - 1]]

    def _place(self, domain: int, row: int) -> tuple[int, int]:
        """The step, and the row of its batch, that a row of a domain is."""
        sample = self._stretch_of(domain, row).sample(domain, row)
        planned = self.plan.phases[bisect_right(self._firsts, sample) - 1]
        steps, place = divmod(sample - planned.first, planned.phase.batch)
        return planned.phase.start + steps, place

    def _stretch_of(self, domain: int, row: int) -> Stretch:
        """The stretch that a row of a domain is in; where it is never read, the last."""
        taken = [stretch.taken[domain] for stretch in self.plan.stretches]
        return self.plan.stretches[bisect_right(taken, row) - 1]

    def _rows_before(self, planned: PlannedPhase, step: int) -> tuple[int, ...]:
        sample = planned.first + (step - planned.phase.start) * planned.phase.batch
        return self.plan.stretches[bisect_right(self._samples, sample) - 1].rows_before(sample)

    def _samples_of(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        """Domain and row of the domain of each sample; padding has domain −1."""
        domains: list[Numbers] = []
        rows: list[Numbers] = []
        place = bisect_right(self._samples, first) - 1
        while first < last or not domains:
            stretch = self.plan.stretches[place]
            stop = self._samples[place + 1] if place + 1 < len(self._samples) else last
            stop = min(stop, last)
            if stretch.interleaving is None:
                domain = np.full(stop - first, -1, np.int64)
                row = np.zeros(stop - first, np.int64)
            else:
                shift = stretch.origin - stretch.first
                domain, before = stretch.interleaving.samples(first + shift, stop + shift)
                row = before + stretch.base[domain]
            domains.append(domain)
            rows.append(row)
            first, place = stop, place + 1
        if len(domains) == 1:
            return domains[0], rows[0]
        return np.concatenate(domains), np.concatenate(rows)

    def _planned(self, step: int) -> PlannedPhase:
        self._check(step)
        return self._planned_at(step)

    def _planned_at(self, step: int) -> PlannedPhase:
        return self.plan.phases[bisect_right(self._starts, step) - 1]

    def _check(self, step: int) -> None:
        if step < 0:
            raise ValueError(f"step must be ≥ 0, got {step}")
        if self.num_steps is not None and step >= self.num_steps:
            raise ValueError(
                f"step {step} is past the end: the last of the {self.num_steps} steps is "
                f"{self.num_steps - 1}"
            )


def _find(readings: list[Reading], epoch: int, place: int, offset: int) -> Piece:
    """The row that reads an offset of a chunk: that of the first reading that comes so far."""
    for reading, following in zip(readings, [*readings[1:], None], strict=True):
        piece = reading.find(epoch, place, offset)
        if piece and (following is None or piece.row < following.first_row):
            return piece
    raise AssertionError("every token is read by one of the readings")
