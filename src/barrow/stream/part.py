"""Which part of a batch is requested."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Rows and columns of the global batch of a step, whose rows are `width` places wide."""

    step: int
    rows: range
    columns: range
    width: int

    @property
    def num_columns(self) -> int:
        return len(self.columns)


def part_of(
    whole: int, wanted: slice | None, *, what: str, rank: int | None = None, of: int | None = None
) -> range:
    """The places of `whole` for a slice, or for rank `rank` of `of`.

    A slice that reaches outside is an error.
    """
    if (rank is None) != (of is None):
        raise ValueError("pass both rank and of: batch(step, rank=0, of=8)")
    if rank is not None and of is not None:
        if wanted is not None:
            raise ValueError(f"pass rank and of, or {what}, not both")
        if of < 1 or not 0 <= rank < of:
            raise ValueError(f"rank must be from 0 to {of - 1}, got {rank}")
        if whole % of:
            raise ValueError(
                f"{of} ranks cannot share a batch of {whole} {what} evenly; make the batch "
                f"a multiple of {of}, or pass {what}=slice(…)"
            )
        return range(whole * rank // of, whole * (rank + 1) // of)
    if wanted is None:
        return range(whole)
    start = 0 if wanted.start is None else wanted.start
    stop = whole if wanted.stop is None else wanted.stop
    if wanted.step not in (None, 1) or not 0 <= start <= stop <= whole:
        raise ValueError(
            f"{what} {wanted.start}:{wanted.stop}:{wanted.step} is not a part of {whole}: "
            f"expected a:b with 0 ≤ a ≤ b ≤ {whole}"
        )
    return range(start, stop)
