"""Settings of streams: with the data, all that batches depend on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from barrow.errors import ConfigError
from barrow.stream.order.schedule import Mixture, Phase, Schedule
from barrow.stream.rows.masking import Mlm
from barrow.stream.rows.packed_rows import default_buckets

if TYPE_CHECKING:
    from barrow.stream.store import Store
    from barrow.stream.tokens import Tokens
    from barrow.tokens import Tokenizer

Packing = Literal["cut", "fit", "document"]
Settings = TypeVar("Settings", bound="OrderSettings")

# What a schedule has by phase.
_OF_A_PHASE = ("seq_len", "batch", "weights", "epochs", "tokens", "max_epochs")


@dataclass(frozen=True, kw_only=True)
class OrderSettings:
    """Settings of the order, of data of any kind.

    Without a mixture, all domains are read in proportion to their sizes.

    - `seed`: of the order; `batch`: rows of a step, on all devices.
    - `weights`: shares of domains; `epochs`: instead, how often each is read; `max_epochs`: at
      most so often.
    - `schedule`: phases, each with its own mixture, in place of the others.
    """

    seed: int = 0
    batch: int | None = None
    weights: dict[str, float] | None = None
    epochs: dict[str, float] | None = None
    max_epochs: dict[str, float] | float | None = None
    schedule: Schedule | None = None

    @property
    def batches(self) -> tuple[int, ...]:
        """Rows of the global batches, of all phases."""
        if self.schedule is not None:
            return tuple(phase.batch for phase in self.schedule.phases)
        if self.batch is None:
            raise ConfigError("pass batch, the rows of a step, or a schedule")
        return (self.batch,)

    def resolve(self, sizes: Mapping[str, int]) -> Schedule:
        """The schedule for domains of some sizes."""
        given = {name: getattr(self, name, None) for name in _OF_A_PHASE}
        schedule = self.schedule
        if schedule is not None and any(value is not None for value in given.values()):
            names = ", ".join(name for name, value in given.items() if value is not None)
            raise ConfigError(f"the schedule already sets {names}; leave it out")
        if schedule is None:
            seq_len = getattr(self, "seq_len", 1)
            if seq_len is None or self.batch is None:
                raise ConfigError("pass seq_len and batch, or a schedule")
            amounts = {name: given[name] for name in ("weights", "epochs", "tokens")}
            if all(amount is None for amount in amounts.values()):
                amounts["weights"] = {name: float(size) for name, size in sizes.items() if size}
            mixture = Mixture(**amounts, max_epochs=self.max_epochs)
            schedule = Schedule((Phase(0, seq_len, self.batch, mixture),))
        for phase in schedule.phases:
            phase.mixture.check(sizes)
        return schedule

    def with_schedule(self: Settings, schedule: Schedule) -> Settings:
        """The same with a schedule instead of one phase."""
        cleared: dict[str, Any] = {name: None for name in _OF_A_PHASE if hasattr(self, name)}
        return replace(self, schedule=schedule, **cleared)


@dataclass(frozen=True, kw_only=True)
class StreamSettings(OrderSettings):
    """What a stream of tokens is made of, beside its store.

    - `seq_len`: tokens of a row; `tokens`: a mixture by numbers of tokens.
    - `packing`: "cut" concatenates documents and cuts rows from them; "fit" packs whole documents;
      "document" gives each document its own row.
    - `buckets`: widths that batches of "document" may have; powers of two up to seq_len if None.
    - `mlm`: how tokens are masked for masked language modelling; None predicts the next token.
    - `pad`: the padding id.
    """

    seq_len: int | None = None
    tokens: dict[str, int] | None = None
    packing: Packing = "cut"
    buckets: tuple[int, ...] | None = None
    mlm: Mlm | None = None
    pad: int = 0

    def __post_init__(self) -> None:
        if self.packing not in get_args(Packing):
            raise ConfigError(f"packing must be cut, fit or document, got {self.packing!r}")
        if self.schedule is not None and self.packing != "cut":
            lengths = sorted({phase.seq_len for phase in self.schedule.phases})
            if len(lengths) > 1:
                raise ConfigError(
                    f"packing {self.packing!r} needs one seq_len, but the schedule has "
                    f"{', '.join(map(str, lengths))}; use packing 'cut'"
                )
        if self.buckets is not None:
            self._check_buckets(self.buckets)

    def _check_buckets(self, buckets: tuple[int, ...]) -> None:
        if self.packing != "document":
            raise ConfigError(f"buckets need packing 'document', got {self.packing!r}")
        is_known = self.schedule or (self.seq_len and self.batch)
        last = self.longest if is_known else max((0, *buckets))
        if list(buckets) != sorted({b for b in buckets if b > 0}) or buckets[-1:] != (last,):
            raise ConfigError(
                f"buckets: expected ascending widths that end with seq_len {last}, got "
                f"{list(buckets)}"
            )

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        if self.schedule is not None:
            return max(phase.seq_len for phase in self.schedule.phases)
        if self.seq_len is None or self.batch is None:
            raise ConfigError("pass seq_len and batch, or a schedule")
        return self.seq_len

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths that batches of "document" may have."""
        return self.buckets or default_buckets(self.longest)

    def open(
        self,
        store: Store | str | os.PathLike[str],
        *,
        tokenizer: Tokenizer | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Tokens:
        """The tokens of a store. `tokenizer` is checked against the store's. `cache` is a folder
        for packings, by default one within the store.
        """
        from barrow.stream.tokens import Tokens

        if isinstance(store, str | os.PathLike):
            from barrow.tokens import open_store  # which needs more than NumPy

            store = open_store(store)
        return Tokens(store, self, tokenizer, None if cache is None else Path(cache))
