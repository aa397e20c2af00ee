"""Batches on their way to the devices, prepared ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from barrow.stream import Prefetch

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.train.task import Data


def feed(
    data: Data, sharding: Sharding, *, start: int = 0, stop: int | None = None
) -> Prefetch[dict[str, Any]]:
    """(step, batch on the devices) from a step on, two ahead."""
    ends = [end for end in (stop, data.num_steps) if end is not None]
    return Prefetch(
        lambda step: data.place(step, sharding), start=start, stop=min(ends, default=None)
    )
