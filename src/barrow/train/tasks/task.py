"""A kind of training: what a run computes and what it reads.

A kind is a frozen dataclass that is made of a `Run` and has what `Task` names; the run's model
names it (`Family.objective`). The loop, the step, the log and the checkpoints know no other
difference.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from barrow.objects import resolve
from barrow.train.objectives.objective import Objective
from barrow.train.run import Run
from barrow.train.tasks.own_data import Batches, OwnData

if TYPE_CHECKING:
    import optax
    from jax.sharding import Sharding

    from barrow.nn.module import Module
    from barrow.nn.trace import Constrain
    from barrow.train.state import TrainState


class Data(Protocol):
    """The batches of a run, as training sees them."""

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read; None if never."""
        ...

    @property
    def identity(self) -> str:
        """Short, and the same for the same contents in any place: processes of a run compare it."""
        ...

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices; what the model cannot take is refused first."""
        ...

    def describe(self, step: int) -> list[str]:
        """What the batch of a step is made of, a line for each part."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is needed to make the same batches again."""
        ...

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless what was saved there makes the same batches."""
        ...

    def about(self) -> dict[str, Any]:
        """Its part of a checkpoint's `about`."""
        ...

    def baseline(self) -> str:
        """A line with the loss that a model must beat."""
        ...


@dataclass(frozen=True)
class Work:
    """What a step is: how many tokens (or pairs) its batch has, and the operations of its model."""

    size: int
    flops: float


class Task(Protocol):
    """What a run of one kind computes and reads.

    - `unit`: what is counted in a batch: "token", "pair". Keys of the log are made with it.
    - `measure`: what the loss is, in words: "nats per token".
    """

    def check(self) -> None:
        """Raise unless the run's data fit its model."""
        ...

    @property
    def unit(self) -> str: ...

    @property
    def measure(self) -> str: ...

    @property
    def run(self) -> Run: ...

    @property
    def model(self) -> Module:
        """The model, run as the settings say."""
        ...

    @property
    def example(self) -> tuple[Any, ...]:
        """Shapes of inputs to initialise with."""
        ...

    def optimizer(self) -> optax.GradientTransformation:
        """The optimizer."""
        ...

    def objective(self, constrain: Constrain | None) -> Objective:
        """The training loss, unless the run names one."""
        ...

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """The validation loss, without dropout."""
        ...

    def data(self) -> Data:
        """The training data."""
        ...

    def validation(self, data: Data) -> Data | None:
        """The validation data, or None."""
        ...

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """What one step on such a batch is."""
        ...

    def fitted(self) -> Run:
        """The run, with the model settings that depend on its data, such as the vocabulary."""
        ...


class Judge(Protocol):
    """Evaluates validation rows by more than a mean loss, and may end a run."""

    @property
    def is_over(self) -> bool:
        """Whether the run ends here."""
        ...

    def measures(self, state: TrainState) -> Mapping[str, float]:
        """Metrics by name, at each evaluation."""
        ...

    def about(self) -> dict[str, Any]:
        """Its part of a checkpoint's `about`."""
        ...


@runtime_checkable
class Judged(Protocol):
    """A task with its own `Judge` of validation rows. Besides, a task may have

    `is_apart`, for parameters whose layers are not stacked; `fresh`, the names of parameters that
    are not taken from `init`; and `make_step`, which makes its step as `train.step.make_step` does,
    with the run's `folder`.
    """

    def judge(self, folder: Path, about: Mapping[str, Any]) -> Judge:
        """For the run in a folder; `about` is that of its newest checkpoint."""
        ...


@runtime_checkable
class Started(Protocol):
    """A task that keeps parameters which are not trained, beside those that are."""

    def frozen(self) -> Any:
        """The collections of a state, as shapes."""
        ...

    def start(self, program: Any) -> TrainState:
        """The initial state of a `Program`."""
        ...


def opened(task: Task) -> tuple[Data, Data | None]:
    """Training and validation data of a run."""
    own = task.run.data
    if isinstance(own, Batches):
        return OwnData(own), None if own.validation is None else OwnData(own.validation)
    data = task.data()
    return data, task.validation(data)


def task_of(run: Run) -> Task:
    """The task that a run's data name, or else its model."""
    name = getattr(run.data, "task", "") or run.model.objective
    if not name:
        from barrow.train.tasks.own import OwnTask

        return OwnTask(run)
    task: Task = resolve(name, trust=(name.rpartition(":")[0],))(run)  # the model is trusted
    return task


def for_store(
    run: Run,
    store: str | os.PathLike[str],
    *,
    validation: str | os.PathLike[str] | None = None,
) -> Run:
    """The run on a store, with as many ids in the model's vocabulary as the store's tokenizer has.

    `validation` is the validation store, made with the same tokenizer.
    """
    validation = None if validation is None else os.fspath(validation)
    return task_of(replace(run, store=os.fspath(store), validation=validation)).fitted()
