"""Settings of the order: which mixture, sequence length and batch hold from which step on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from barrow.errors import ConfigError, nearest
from barrow.stream.order.mixture import MOST


@dataclass(frozen=True)
class Mixture:
    """How rows are shared among domains: by exactly one of `weights`, `epochs` and `tokens`.

    - `weights`: shares of rows, relative (they are divided by their sum); endless but for the cap.
    - `epochs`: each domain is read until it has been read so many times since the run began.
    - `tokens`: each domain is read until so many of its tokens were read since the run began; the
      row that reaches the number is read whole.

    By epochs and tokens, the shares are what each domain has left when the phase begins, so that
    all arrive together. A domain that is not named, or is named with 0, is not read. `max_epochs`,
    for all or by domain, caps how often a domain is read in the whole run. A domain that reaches
    its end drops out at that very row; the others keep their proportions.
    """

    weights: dict[str, float] | None = None
    epochs: dict[str, float] | None = None
    tokens: dict[str, int] | None = None
    max_epochs: dict[str, float] | float | None = None

    def __post_init__(self) -> None:
        given = [
            name for name in ("weights", "epochs", "tokens") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            raise ConfigError(
                "a mixture needs exactly one of weights, epochs and tokens, got "
                f"{' and '.join(given) or 'none of them'}"
            )
        for domain, amount in self.amounts.items():
            if not (math.isfinite(amount) and amount >= 0):
                raise ConfigError(
                    f"mixture.{given[0]}.{domain}: expected a number of 0 or more, got {amount}"
                )
        if not any(self.amounts.values()):
            raise ConfigError(f"mixture.{given[0]}: expected one above 0, got {self.amounts}")
        for domain, cap in self.caps.items():
            if not (math.isfinite(cap) and cap > 0):
                raise ConfigError(
                    f"mixture.max_epochs{domain}: expected a number above 0, got {cap}; to "
                    "skip the domain, leave it out of the mixture"
                )

    @property
    def kind(self) -> str:
        """What it is by: "weights", "epochs" or "tokens"."""
        if self.weights is not None:
            return "weights"
        return "tokens" if self.epochs is None else "epochs"

    @property
    def amounts(self) -> Mapping[str, float]:
        """The weights, epochs or tokens, by domain."""
        amounts: Mapping[str, float] = getattr(self, self.kind)
        return amounts

    @property
    def caps(self) -> Mapping[str, float]:
        """The numbers in `max_epochs`, for messages: by ".domain", or one for all under ""."""
        if self.max_epochs is None:
            return {}
        if isinstance(self.max_epochs, Mapping):
            return {f".{domain}": cap for domain, cap in self.max_epochs.items()}
        return {"": self.max_epochs}

    def cap(self, domain: str) -> float | None:
        """How often a domain may be read in the whole run, if that is limited."""
        if isinstance(self.max_epochs, Mapping):
            return self.max_epochs.get(domain)
        return self.max_epochs

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise `ConfigError` unless every domain that is named exists, and has text if read."""
        named = {**self.amounts}
        if isinstance(self.max_epochs, Mapping):
            named.update({domain: 0.0 for domain in self.max_epochs if domain not in named})
        for domain, amount in named.items():
            if domain not in sizes:
                raise ConfigError(f"the mixture names {domain!r}; {nearest(domain, sorted(sizes))}")
            if amount and not sizes[domain]:
                raise ConfigError(
                    f"the mixture has {self.kind} of {amount:g} for {domain!r}, which has no "
                    "tokens; leave it out or give it 0"
                )


@dataclass(frozen=True)
class Phase:
    """What holds from a step on: length of a row, rows of the global batch, mixture."""

    start: int
    seq_len: int
    batch: int
    mixture: Mixture

    def __post_init__(self) -> None:
        if self.start < 0:
            raise ConfigError(f"the start of a phase must be ≥ 0, got {self.start}")
        if self.seq_len < 1:
            raise ConfigError(f"seq_len: expected 1 or more tokens, got {self.seq_len}")
        if not 1 <= self.batch <= MOST:
            raise ConfigError(f"batch: expected 1 to {MOST:,} rows, got {self.batch}")


@dataclass(frozen=True)
class Schedule:
    """Phases in the order of their steps.

    `chunk` is the number of tokens that are shuffled as one (rows are cut from chunks, and never
    reach over two). It cannot change within a run; 0 means the largest seq_len given now and is
    replaced by it at once, so that it is saved and stays when a phase is added.
    """

    phases: tuple[Phase, ...]
    chunk: int = 0

    def __post_init__(self) -> None:
        if not self.phases:
            raise ConfigError("a schedule needs at least one phase")
        if self.phases[0].start:
            raise ConfigError(f"the first phase must start at step 0, got {self.phases[0].start}")
        starts = [phase.start for phase in self.phases]
        for before, after in pairwise(starts):
            if after <= before:
                raise ConfigError(
                    f"phases must start at increasing steps, got {after} after {before}"
                )
        longest = max(phase.seq_len for phase in self.phases)
        if self.chunk == 0:
            object.__setattr__(self, "chunk", longest)
        if self.chunk < longest:
            raise ConfigError(
                f"a phase has seq_len {longest}, but rows are cut from chunks of "
                f"{self.chunk} tokens, which are fixed for a run: start the run with "
                f"chunk={longest} or more"
            )

    def then(self, phase: Phase) -> Schedule:
        """The schedule with one more phase at its end; the steps before see what they saw."""
        return dataclasses.replace(self, phases=(*self.phases, phase))


def growing(
    *,
    first: int,
    last: int,
    steps: int,
    multiple: int,
    batch: int,
    mixture: Mixture,
    power: float = 1.0,
) -> Schedule:
    """Rows that become longer over so many steps: a curriculum by sequence length.

    At step s a row has first + (last − first) · (s / steps)^power tokens, rounded down to a
    multiple; from `steps` on it has `last`. Each length is a phase, and one more program.
    """
    if not (1 <= first <= last and steps >= 1 and multiple >= 1 and power > 0):
        raise ConfigError(
            "first must be from 1 to last, steps and multiple ≥ 1 and power > 0, got "
            f"first={first}, last={last}, steps={steps}, multiple={multiple}, power={power}"
        )
    starts: dict[int, int] = {}
    for step in range(steps + 1):
        reached = first + int((last - first) * (step / steps) ** power)
        length = last if step == steps else max(first, reached // multiple * multiple)
        starts.setdefault(length, step)
    return Schedule(tuple(Phase(start, n, batch, mixture) for n, start in starts.items()))


def constant(*, seq_len: int, batch: int, mixture: Mixture, chunk: int = 0) -> Schedule:
    """A schedule that never changes."""
    return Schedule((Phase(0, seq_len, batch, mixture),), chunk)
