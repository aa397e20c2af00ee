"""Runs on data that exist: fine-tuning on chats, rewards and preferences of pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from barrow.align.data.batches import AlignData
from barrow.align.data.records import Bad
from barrow.align.data.settings import Chats, Pairs
from barrow.align.model import Aligned, AlignedConfig
from barrow.align.tasks.start import open_words, started
from barrow.errors import ConfigError
from barrow.train.run import Run, policy_of
from barrow.train.tasks.task import Data, Work

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.train.objectives.objective import Objective
    from barrow.train.program import Program
    from barrow.train.state import TrainState


@dataclass(frozen=True)
class StaticTask:
    """The task of a run whose data are `Chats` or `Pairs`; its objective is the run's."""

    run: Run

    @property
    def unit(self) -> str:
        """As the objective says."""
        return str(getattr(self.run.objective, "unit", "pair"))

    @property
    def measure(self) -> str:
        """As the objective says."""
        return str(getattr(self.run.objective, "measure", f"per {self.unit}"))

    @property
    def config(self) -> AlignedConfig:
        """The decoder, and what is trained of it."""
        assert isinstance(self.run.model, AlignedConfig)
        return self.run.model

    @property
    def settings(self) -> Chats | Pairs:
        """The settings of the data."""
        assert isinstance(self.run.data, (Chats, Pairs))
        return self.run.data

    def check(self) -> None:
        """Require a model and an objective for the data."""
        if not isinstance(self.run.model, AlignedConfig) or self.run.objective is None:
            raise ValueError("chats and pairs need an alignment run; see barrow.align.sft_run")
        refuse_precision(self.run)
        context = self.config.body.context
        if self.settings.length >= context:
            raise ValueError(
                f"rows have {self.settings.length} tokens and one more is predicted, but the model "
                f"has {context} positions: set data.length={context - 1}"
            )

    @cached_property
    def model(self) -> Aligned:
        """The model, run as the settings say."""
        dtype = jnp.dtype(self.run.step.precision.dtype).name
        remat = policy_of(self.run.remat)
        return self.config.module(unroll=self.run.unroll, remat=remat, dtype=dtype)

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.config.example

    def optimizer(self) -> optax.GradientTransformation:
        """The run's, which has state for what is trained."""
        return self.run.optimizer.make(self.run.steps)

    def objective(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        del constrain
        raise ConfigError("an alignment run names its objective")

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        return self.objective(constrain)

    def data(self) -> AlignData:
        """The training rows."""
        return open_data(self.run, self.settings.path)[0]

    def validation(self, data: Data) -> AlignData | None:
        """The validation rows, each read once."""
        del data
        if not self.settings.validation:
            return None
        found = open_data(self.run, self.settings.validation)[0]
        return replace(found, num_steps=found.order.steps(1))

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Tokens or pairs, with padding, times the model's operations."""
        shape = batch["tokens"].shape
        tokens, length = math.prod(shape), shape[-1]
        size = tokens if self.unit == "token" else shape[0]
        return Work(size, tokens * self.config.body.flops(num_params, length))

    def fitted(self) -> Run:
        """As it is."""
        return self.run

    def frozen(self) -> Any:
        """See `Started`."""
        return self.model.frozen_shapes(apart=False)

    def start(self, program: Program) -> TrainState:
        """See `Started`."""
        return started(self.run, program, apart=False)


@lru_cache(maxsize=4)
def _opened(
    data: Chats | Pairs, path: str, init: str, loss: str, parts: int
) -> tuple[AlignData, Bad]:
    words, bad = open_words(init, data.tokenizer, data.template), Bad(data.on_bad)
    return data.open(words, bad, path=path, loss=loss, parts=parts), bad


def open_data(run: Run, path: str) -> tuple[AlignData, Bad]:
    """The rows of a file, as a run reads them, and what was left out."""
    assert isinstance(run.data, (Chats, Pairs))
    loss = str(getattr(run.objective, "loss", ""))
    return _opened(run.data, path, run.init, loss, run.step.accumulate)


def refuse_precision(run: Run) -> None:
    """Raise for number formats that alignment does not have."""
    if run.step.precision.name not in ("fp32", "bf16"):
        raise ValueError(
            f"the precision of alignment must be fp32 or bf16, got {run.step.precision.name}"
        )
    if run.mesh.offload != "none":
        raise ValueError(f"alignment runs on the devices: mesh.offload={run.mesh.offload}")
