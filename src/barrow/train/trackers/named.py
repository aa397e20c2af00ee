"""Trackers of other projects, by name."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from barrow.errors import ConfigError, MissingExtra
from barrow.files import write_bytes
from barrow.objects import resolve
from barrow.train.trackers.tracker import Tracker, Values, flat, numbers

NAMES = ("tensorboard", "wandb", "mlflow")
_NAME = "mlflow_run"


def make_tracker(name: str, folder: Path, *, trust: Collection[str] = ()) -> Tracker:
    """The tracker of a name, for the run in a folder; its failures do not stop the run.

    One of your own is ``module:Name``, a dataclass or a function that is called with the folder;
    its module is imported only if it is in `trust`.
    """
    if ":" in name:
        return Guarded(name, resolve(name, trust=trust)(folder))
    if name == "tensorboard":
        return Guarded("TensorBoard", TensorBoard(folder / "tensorboard"))
    if name == "wandb":
        return Guarded("Weights & Biases", Wandb(folder))
    if name == "mlflow":
        return Guarded("MLflow", MLflow(folder))
    raise ValueError(f"no tracker {name!r}: {', '.join(NAMES)}, or module:Name")


class Guarded:
    """Wraps trackers that send values elsewhere, which may fail at any time.

    One that cannot start is an error. One that fails later is switched off with a warning:
    `log.jsonl` has every value.
    """

    def __init__(self, name: str, tracker: Tracker) -> None:
        self._name = name
        self._tracker = tracker
        self._has_failed = False

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Begin; `ConfigError` if it cannot."""
        try:
            self._tracker.begin(run, start)
        except Exception as error:
            raise ConfigError(f"{self._name} cannot start tracking: {_words(error)}") from error

    def log(self, step: int, values: Values) -> None:
        """Pass the values on, unless it has failed."""
        if self._has_failed:
            return
        try:
            self._tracker.log(step, values)
        except Exception as error:  # noqa: BLE001 - whatever another project's code raises
            self._has_failed = True
            warnings.warn(
                f"{self._name} failed at step {step} and is switched off: {_words(error)}",
                stacklevel=2,
            )

    def close(self) -> None:
        """Close it, if it can be."""
        try:
            self._tracker.close()
        except Exception as error:  # noqa: BLE001 - as above
            warnings.warn(f"{self._name} failed at the end: {_words(error)}", stacklevel=2)


def _words(error: Exception) -> str:
    return str(error).strip() or type(error).__name__


class TensorBoard:
    """Writes an event file to a folder. `clock` gives the time events are stamped with."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise MissingExtra("tensorboard", "tensorboard", "tracking by TensorBoard") from None
        self._event, self._session = event_pb2.Event, event_pb2.SessionLog
        self._summary = summary_pb2.Summary
        self._open = lambda: EventFileWriter(str(folder))
        self._clock = clock
        self._writer: Any = None

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Open a file; TensorBoard then discards earlier values from `start` on."""
        del run
        self._writer = self._open()
        session = self._session(status=self._session.START)
        self._add(self._event(step=start, session_log=session))

    def log(self, step: int, values: Values) -> None:
        """One point for each number."""
        points = [
            self._summary.Value(tag=name, simple_value=number)
            for name, number in numbers(values).items()
        ]
        self._add(self._event(step=step, summary=self._summary(value=points)))

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()

    def _add(self, event: Any) -> None:
        event.wall_time = self._clock()
        self._writer.add_event(event)


class Wandb:
    """A run of W&B, named by the run's folder, so that a resumed run is the same there.

    Where it is sent is set for W&B (WANDB_MODE, WANDB_PROJECT).
    """

    def __init__(self, folder: Path) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingExtra("wandb", "wandb", "tracking by Weights & Biases") from None
        self._wandb = wandb
        self._folder = folder.resolve()
        self._run: Any = None

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Start or resume; W&B drops steps that it already has."""
        del start
        name = hashlib.sha256(str(self._folder).encode()).hexdigest()[:16]
        self._run = self._wandb.init(
            id=name, name=self._folder.name, dir=str(self._folder), config=dict(run), resume="allow"
        )

    def log(self, step: int, values: Values) -> None:
        """Send numbers."""
        self._run.log(numbers(values), step=step)

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            self._run.finish()


class MLflow:
    """A run of MLflow; its id is kept in the run's folder, so that a resumed run is the same.

    Where it is stored is set for MLflow (MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME).
    """

    def __init__(self, folder: Path) -> None:
        try:
            import mlflow
        except ImportError:
            raise MissingExtra("mlflow", "mlflow", "tracking by MLflow") from None
        self._mlflow = mlflow
        self._folder = folder

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """Start or resume; MLflow shows both values of a repeated step."""
        file = self._folder / _NAME
        known = file.read_text() if start and file.is_file() else None
        active = self._mlflow.start_run(run_id=known, run_name=self._folder.resolve().name)
        if known is None:
            write_bytes(file, active.info.run_id.encode())
            self._mlflow.log_params({key: str(value) for key, value in flat(run).items()})

    def log(self, step: int, values: Values) -> None:
        """Send numbers."""
        self._mlflow.log_metrics(numbers(values), step=step)

    def close(self) -> None:
        """End the run."""
        self._mlflow.end_run()
