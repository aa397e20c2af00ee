"""Settings of a stream: with the store, all that its batches depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barrow.errors import ConfigError
from barrow.stream.masking import Mlm
from barrow.stream.packed_rows import default_buckets
from barrow.stream.schedule import Schedule

Packing = Literal["cut", "fit", "document"]


@dataclass(frozen=True)
class StreamSettings:
    """What a stream is made of, beside its store.

    - `packing`: "cut" concatenates documents and cuts rows from them; "fit" packs whole documents;
      "document" gives each document a row of its own.
    - `buckets`: widths that batches of "document" may have; powers of two up to seq_len if None.
    - `mlm`: how tokens are hidden for masked language modelling; None guesses the next token.
    - `pad`: the id that fills what no document fills.
    """

    seed: int
    schedule: Schedule
    packing: Packing = "cut"
    buckets: tuple[int, ...] | None = None
    mlm: Mlm | None = None
    pad: int = 0

    def __post_init__(self) -> None:
        lengths = sorted({phase.seq_len for phase in self.schedule.phases})
        if self.packing not in ("cut", "fit", "document"):
            raise ConfigError(f"packing is cut, fit or document, not {self.packing!r}")
        if self.packing != "cut" and len(lengths) > 1:
            raise ConfigError(
                f"packing {self.packing!r} packs documents for one seq_len, and the schedule has "
                f"{', '.join(map(str, lengths))}; use packing 'cut'"
            )
        if self.buckets is not None:
            self._check_buckets(lengths[-1])

    def _check_buckets(self, seq_len: int) -> None:
        buckets = self.buckets or ()
        if self.packing != "document":
            raise ConfigError(f"buckets are for packing 'document', not {self.packing!r}")
        if list(buckets) != sorted({b for b in buckets if b > 0}) or buckets[-1:] != (seq_len,):
            raise ConfigError(
                f"buckets: expected ascending widths that end with seq_len {seq_len}, got "
                f"{list(buckets)}"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths that batches of "document" may have."""
        return self.buckets or default_buckets(self.schedule.phases[0].seq_len)
