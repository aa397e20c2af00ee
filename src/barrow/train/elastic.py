"""A global batch that many numbers of devices divide: a run may go from one to another.

A batch is devices × micro-batch × accumulation. What a step computes depends on the product alone,
so a run that resumes on other devices keeps its batches and losses; only the factors change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barrow.errors import ConfigError


@dataclass(frozen=True)
class ElasticBatch:
    """Rows of a global batch, and the largest micro-batch of each number of devices.

    `micro_batches` are rows of one device in one micro-batch, by number of devices.
    """

    batch: int
    micro_batches: dict[int, int]

    @property
    def devices(self) -> tuple[int, ...]:
        """Numbers of devices that divide the batch, ascending."""
        return tuple(self.micro_batches)

    def accumulate(self, devices: int) -> int:
        """Micro-batches of a step on so many devices: `step.accumulate`."""
        if devices not in self.micro_batches:
            near = sorted(self.devices, key=lambda num: abs(num - devices))[:4]
            raise ConfigError(
                f"a batch of {self.batch} rows cannot be divided over {devices} devices; use "
                + ", ".join(map(str, sorted(near)))
            )
        return self.batch // devices // self.micro_batches[devices]


def elastic_batch(
    micro_batches: Sequence[int], *, at_most: int, devices: tuple[int, int]
) -> ElasticBatch:
    """The batch of at most so many rows that the most numbers of devices divide; else the largest.

    `micro_batches` are those that fit on a device; `devices` the fewest and the most.
    """
    fewest, most = devices
    if not micro_batches or min(micro_batches) < 1 or not 1 <= fewest <= most:
        raise ConfigError(
            f"micro_batches and devices must be ≥ 1, got {list(micro_batches)} and {devices}"
        )
    if at_most < min(micro_batches) * fewest:
        raise ConfigError(
            f"{fewest} devices need at least {min(micro_batches) * fewest} rows, got {at_most}"
        )
    found: dict[int, dict[int, int]] = {}
    for micro in sorted(micro_batches):
        for num in range(fewest, min(most, at_most // micro) + 1):
            for batch in range(micro * num, at_most + 1, micro * num):
                found.setdefault(batch, {})[num] = micro
    batch = max(found, key=lambda rows: (len(found[rows]), rows))
    return ElasticBatch(batch, dict(sorted(found[batch].items())))
