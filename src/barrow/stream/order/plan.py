"""A schedule compiled for the sizes of the domains: the mixture at each sample.

Samples are the rows of all batches, one after another. A *stretch* is a run of samples over which
the same domains share in the same proportions. It ends where a domain has been read to its end or a
phase begins. Each stretch follows from those before it, so nothing that a step sees depends on a
phase that begins later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError
from barrow.stream.order.mixture import Interleaving, quantised
from barrow.stream.order.permutation import derive
from barrow.stream.order.schedule import Mixture, Phase, Schedule
from barrow.stream.order.windows import Windows


@dataclass(frozen=True)
class Stretch:
    """Samples from `first` on. `taken` is how many rows of each domain came before.

    `origin` is the number that sample `first` has in the interleaving; without an interleaving all
    has been read, and the rest of the batch is padding.
    """

    first: int
    interleaving: Interleaving | None
    origin: int
    taken: tuple[int, ...]
    base: npt.NDArray[np.int64]  # added to a number within the interleaving, gives a row

    def rows_before(self, sample: int) -> tuple[int, ...]:
        """Rows of each domain before a sample of this stretch."""
        if self.interleaving is None:
            return self.taken
        counts = self.interleaving.counts(self.origin + sample - self.first)
        return tuple(base + count for base, count in zip(self.base.tolist(), counts, strict=True))

    def sample(self, domain: int, row: int) -> int:
        """The sample that is a row of a domain."""
        assert self.interleaving is not None
        number = self.interleaving.number(domain, row - int(self.base[domain]))
        return self.first + number - self.origin


@dataclass(frozen=True)
class PlannedPhase:
    """A phase with its first sample and the windows that hold in it."""

    phase: Phase
    first: int
    windows: Windows


@dataclass(frozen=True)
class Plan:
    """Phases and stretches in order; `num_steps` is None where the stream has no end."""

    phases: tuple[PlannedPhase, ...]
    stretches: tuple[Stretch, ...]
    num_steps: int | None


def compile_plan(
    seed: int, schedule: Schedule, sizes: Mapping[str, int], *, windows: Windows
) -> Plan:
    """The plan of a schedule, from windows that have read nothing yet."""
    phases: list[PlannedPhase] = []
    stretches: list[Stretch] = []
    weights: Sequence[float] = ()
    taken: tuple[int, ...] = (0,) * len(sizes)
    first, mixture, num_steps = 0, None, None
    for place, phase in enumerate(schedule.phases):
        phase.mixture.check(sizes)
        later = schedule.phases[place + 1].start if place + 1 < len(schedule.phases) else None
        limit = None if later is None else first + (later - phase.start) * phase.batch
        following = windows.then(taken, piece=min(phase.seq_len, windows.chunk))
        continues = phase.mixture == mixture and following is windows
        windows, mixture = following, phase.mixture
        phases.append(PlannedPhase(phase, first, windows))
        ends = _ends(mixture, sizes, windows)
        if not continues:
            weights = _weights(mixture, sizes, ends, taken)
        stretches += _stretches(seed, stretches, first, weights, ends, taken, limit)
        last = stretches[-1]
        if last.interleaving is None:
            num_steps = phase.start + -(-(last.first - first) // phase.batch)
            if later is not None and num_steps < later:
                raise ConfigError(
                    f"a phase starts at step {later}, but the mixture before it ends after "
                    f"{num_steps} steps: start it at step {num_steps} or earlier, or give "
                    "that mixture more"
                )
        if limit is not None:
            first, taken, num_steps = limit, last.rows_before(limit), None
    return Plan(tuple(phases), tuple(stretches), num_steps)


def _ends(mixture: Mixture, sizes: Mapping[str, int], windows: Windows) -> list[int | None]:
    """The number of rows after which each domain drops out, where it does."""
    ends: list[int | None] = []
    for (name, size), reading in zip(sizes.items(), windows.readings, strict=True):
        amount = mixture.amounts.get(name, 0)
        targets = [] if (cap := mixture.cap(name)) is None else [_epochs(cap, size)]
        if mixture.kind == "epochs":
            targets.append(_epochs(amount, size))
        elif mixture.kind == "tokens":
            targets.append(int(amount))
        ends.append(reading.rows_for(min(targets)) if amount and targets else None)
    return ends


def _epochs(epochs: float, size: int) -> int:
    # Through decimals: 0.1 of 1,000 tokens is 100, though the float is a little more.
    return math.ceil(Fraction(str(epochs)) * size)


def _weights(
    mixture: Mixture, sizes: Mapping[str, int], ends: Sequence[int | None], taken: Sequence[int]
) -> list[float]:
    amounts = [mixture.amounts.get(name, 0) for name in sizes]
    if mixture.kind == "weights":
        return amounts
    left = [0 if end is None else end - row for end, row in zip(ends, taken, strict=True)]
    return [max(0, rows) for rows in left]


def _stretches(
    seed: int,
    before: Sequence[Stretch],
    first: int,
    weights: Sequence[float],
    ends: Sequence[int | None],
    taken: tuple[int, ...],
    limit: int | None,
) -> list[Stretch]:
    """Stretches from a sample to the limit, or to where everything has been read."""
    out: list[Stretch] = []
    while limit is None or first < limit:
        live = [
            weight if end is None or rows < end else 0
            for weight, end, rows in zip(weights, ends, taken, strict=True)
        ]
        if not any(live):
            out.append(Stretch(first, None, 0, taken, np.array(taken, np.int64)))
            break
        stretch = _next(seed, [*before, *out], first, quantised(live), taken)
        out.append(stretch)
        full = [
            stretch.sample(domain, end - 1) + 1
            for domain, end in enumerate(ends)
            if live[domain] and end is not None
        ]
        stop = min([*full, limit] if limit is not None else full, default=None)
        if stop is None:
            break
        first, taken = stop, stretch.rows_before(stop)
    return out


def _next(
    seed: int,
    before: Sequence[Stretch],
    first: int,
    weights: tuple[int, ...],
    taken: tuple[int, ...],
) -> Stretch:
    """A stretch that continues the last one's interleaving if the weights are the same."""
    last = before[-1] if before else None
    if last and last.interleaving and last.interleaving.weights == weights:
        interleaving, origin = last.interleaving, last.origin + first - last.first
    else:
        # Neither continuations nor padding count: both depend on how samples are batched.
        number = sum(bool(old.interleaving) and old.origin == 0 for old in before)
        interleaving, origin = Interleaving(weights, derive("mixture", seed, number)), 0
    counts = interleaving.counts(origin)
    base = [row - count for row, count in zip(taken, counts, strict=True)]
    return Stretch(first, interleaving, origin, taken, np.array(base, np.int64))
