"""A user's batches: an object that returns the arrays of each step."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import jax
import numpy as np

from barrow import config
from barrow.parallel import fitted

if TYPE_CHECKING:
    from jax.sharding import Sharding


@runtime_checkable
class Batches(Protocol):
    """A frozen dataclass that gives batches as a function of the step: a run's `data`.

    - `num_steps`: steps until all has been read; None if never.
    - `validation`: batches to evaluate with, or None.
    """

    @property
    def num_steps(self) -> int | None: ...

    @property
    def validation(self) -> Batches | None: ...

    def batch(self, step: int) -> Mapping[str, Any]:
        """Arrays by name; their first dimension is the rows of the global batch."""
        ...


class BatchSizes(Protocol):
    """Settings of data that the model's task opens; `stream.DataSettings` open themselves."""

    @property
    def batches(self) -> tuple[int, ...]:
        """Rows of the global batches; none where they are padded for any number of devices."""
        ...


def placed(batch: Mapping[str, Any], sharding: Sharding) -> dict[str, Any]:
    """Arrays of a whole batch on the devices."""

    def place(x: Any) -> jax.Array:
        array = np.asarray(x)
        place = fitted(sharding, array.shape)
        return jax.make_array_from_callback(array.shape, place, lambda at: array[at])

    return {name: place(x) for name, x in batch.items()}


@dataclass(frozen=True)
class OwnData:
    """Such batches as `task.Data`."""

    batches: Batches

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read."""
        return self.batches.num_steps

    @property
    def identity(self) -> str:
        """Of the settings and of the source."""
        text = json.dumps(config.identity(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices; each process makes all of it and takes its part."""
        return placed(self.batches.batch(step), sharding)

    def describe(self, step: int) -> list[str]:
        """Which batch of what."""
        return [f"batch({step}) of {self.batches}"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """The settings are the run's own, in run.json."""

    def check(self, path: str | os.PathLike[str]) -> None:
        """The settings of a run are compared anyway."""

    def about(self) -> dict[str, Any]:
        """Nothing beyond the settings."""
        return {}

    def baseline(self) -> str:
        """There is none."""
        return ""
