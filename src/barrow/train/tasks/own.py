"""A user's model, with its own objective and batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from barrow.errors import ConfigError
from barrow.train.run import Run, policy_of
from barrow.train.tasks.task import Data, Work

if TYPE_CHECKING:
    import optax

    from barrow.nn.module import Module
    from barrow.nn.trace import Constrain
    from barrow.train.objectives.objective import Objective


@dataclass(frozen=True)
class OwnTask:
    """The task of a run whose model names no objective: the run must have one, and data."""

    run: Run

    def check(self) -> None:
        """Require the run's own batches."""
        self.data()

    @property
    def unit(self) -> str:
        """As the objective says."""
        return str(getattr(self.run.objective, "unit", "row"))

    @property
    def measure(self) -> str:
        """As the objective says."""
        return str(getattr(self.run.objective, "measure", f"per {self.unit}"))

    @cached_property
    def model(self) -> Module:
        """The model, run as the settings say."""
        dtype = jnp.dtype(self.run.step.precision.dtype).name
        run = self.run
        return run.model.module(unroll=run.unroll, remat=policy_of(run.remat), dtype=dtype)

    @property
    def example(self) -> tuple[Any, ...]:
        """The model's."""
        return self.run.model.example

    def optimizer(self) -> optax.GradientTransformation:
        """The run's."""
        return self.run.optimizer.make(self.run.steps)

    def objective(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        del constrain
        raise ConfigError(
            f"{type(self.run.model).__name__} has no default objective: pass objective=…"
        )

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        return self.objective(constrain)

    def data(self) -> Data:
        """None but the run's."""
        raise ConfigError(f"{type(self.run.model).__name__} has no default data: pass data=…")

    def validation(self, data: Data) -> Data | None:
        """As `data`."""
        return data

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Rows, by 6N operations each."""
        rows = len(next(iter(batch.values())))
        return Work(rows, 6.0 * num_params * rows)

    def fitted(self) -> Run:
        """As it is."""
        return self.run
