"""Metrics of the steps of a run: checked, converted, and passed to the trackers.

The metrics of a step are read while the device computes the next one, so it never waits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from barrow.train.mfu import peak_flops
from barrow.train.objectives.objective import Mean
from barrow.train.profile.leaks import Leaks
from barrow.train.profile.monitor import Monitor
from barrow.train.program import Program
from barrow.train.run import Run
from barrow.train.step import StepMetrics
from barrow.train.tasks.task import Work
from barrow.train.trackers.tracker import Tracker
from barrow.train.watch import Watch


class Trouble(Exception):
    """A step after which a run must stop, and why.

    States of up to `good` steps had a good loss.
    """

    def __init__(self, step: int, reason: str, *, good: int) -> None:
        self.step, self.reason, self.good = step, reason, good
        super().__init__(f"step {step}: {reason}")


class Logbook:
    """Receives the metrics of steps, in order.

    `watch` is the history to be saved with a checkpoint.
    """

    def __init__(
        self,
        run: Run,
        program: Program,
        trackers: Sequence[Tracker],
        *,
        watch: Watch,
        clock: Callable[[], float],
    ) -> None:
        self.watch = watch
        self._run = run
        self._trackers = trackers
        self._pace = Pace(clock)
        self._names = [
            jax.tree_util.keystr(path, simple=True, separator="/")
            for path, _ in jax.tree_util.tree_leaves_with_path(program.shapes.params)
        ]
        self._unit = program.task.unit
        self._is_nats = program.task.measure.startswith("nats")
        devices = list(program.placement.mesh.devices.flat)
        self._peak = peak_flops(devices)
        here = [one for one in devices if one.process_index == jax.process_index()]
        self._monitor, self._leaks = Monitor(here), Leaks()
        self._pending: tuple[int, Work, StepMetrics] | None = None
        self._validation: Mapping[str, Mean | float] = {}

    def add(self, step: int, work: Work, metrics: StepMetrics) -> None:
        """Add the metrics of a step; those of the previous step are logged."""
        self.settle()
        self._pending = step, work, metrics

    def settle(self) -> None:
        """Wait for the last step, check and log it; `Trouble` if the run must stop."""
        if self._pending is None:
            return
        (step, work, metrics), self._pending = self._pending, None
        # To the host first: computations on the device queue after the next step.
        metrics = jax.device_get(metrics)
        validation, self._validation = self._validation, {}
        loss = float(metrics.loss.value)
        place = int(metrics.bad_tensor)
        bad = self._names[place] if place >= 0 else None
        is_bad = bad is not None or not math.isfinite(loss)
        self._pace.add(work.size)
        # A step that overflowed was skipped, and the schedule did not advance.
        at = np.float32(step - self.watch.overflows)
        rate = self._run.optimizer.schedule.rate(at, self._run.steps)
        self.watch, reason = self.watch.after(
            loss,
            bad_tensor=bad,
            is_scaled=metrics.scale is not None,
            factor=self._run.diverged,
        )
        values: dict[str, Any] = self._values(loss, float(rate), metrics)
        good = step - 1 if reason is not None else step
        means = {
            name: float(mean.value if isinstance(mean, Mean) else mean)
            for name, mean in validation.items()
        }
        values |= {f"validation_{name}": v for name, v in means.items() if math.isfinite(v)}
        if not math.isfinite(means.get("loss", 0.0)) and metrics.scale is None and reason is None:
            reason = f"the validation loss after it is {means['loss']:.6g}"
        if isinstance(loss_of_all := validation.get("loss"), Mean):
            values[f"validation_{self._unit}s"] = int(loss_of_all.weight)
        if is_bad and metrics.scale is not None:
            values["overflow"] = bad or "the loss itself"
        is_due = (step + 1) % self._run.log_every == 0 or step in (0, self._run.steps - 1)
        if is_due or is_bad or validation or reason is not None:
            values |= self._speed(work) | self._monitor.read()
            for leak in self._leaks.look(step):
                values["leak"] = leak
                warnings.warn(leak, stacklevel=2)
            for tracker in self._trackers:
                tracker.log(step, values)
        if reason is not None:
            raise Trouble(step, reason, good=good)

    def evaluated(self, take: Callable[[], Mapping[str, Mean | float]]) -> None:
        """Add validation means of the last step; their time is not counted."""
        self._pace.pause()
        self._validation = take()
        self._pace.resume()

    def _values(self, loss: float, rate: float, metrics: StepMetrics) -> dict[str, float | int]:
        found: dict[str, float] = {
            "loss": loss,
            f"{self._unit}s": int(metrics.loss.weight),
            "learning_rate": rate,
            "grad_norm": float(metrics.grad_norm),
        }
        if self._is_nats:
            # Of the data alone, where the loss has more in it.
            nats = metrics.metrics.get("nats", metrics.loss)
            found[f"bits_per_{self._unit}"] = float(nats.value) / math.log(2)
        found |= {name: float(mean.value) for name, mean in metrics.metrics.items()}
        if (lost := metrics.metrics.get("dropped")) is not None:
            found["dropped_choices"] = int(lost.total)
        if metrics.scale is not None:
            found |= {"loss_scale": float(metrics.scale), "overflows": self.watch.overflows}
        return {name: value for name, value in found.items() if math.isfinite(value)}

    def _speed(self, work: Work) -> dict[str, float]:
        read = self._pace.read()
        if read is None:
            return {}
        seconds, rate = read
        speed = {"step_seconds": seconds, f"{self._unit}s_per_second": rate}
        if self._peak is not None:
            speed["mfu"] = rate * work.flops / work.size / self._peak
        return speed


@dataclass
class Pace:
    """Steps and tokens since the last reading, and the time they took.

    The clock starts after the first step, which includes compilation. Time between `pause` and
    `resume` does not count.
    """

    clock: Callable[[], float]
    _since: float | None = field(default=None, init=False)
    _paused: float | None = field(default=None, init=False)
    _steps: int = field(default=0, init=False)
    _tokens: int = field(default=0, init=False)

    def add(self, num_tokens: int) -> None:
        """One more step is over; the first starts the clock."""
        if self._since is None:
            self._since = self.clock()
            return
        self._steps += 1
        self._tokens += num_tokens

    def pause(self) -> None:
        """Stop the clock."""
        self._paused = self.clock()

    def resume(self) -> None:
        """Restart the clock."""
        if self._since is not None and self._paused is not None:
            self._since += self.clock() - self._paused
        self._paused = None

    def read(self) -> tuple[float, float] | None:
        """Seconds per step and tokens per second since the last reading; None if unknown."""
        if self._since is None or not self._steps:
            return None
        now = self.clock()
        seconds = now - self._since
        steps, tokens = self._steps, self._tokens
        self._since, self._steps, self._tokens = now, 0, 0
        return (seconds / steps, tokens / seconds) if seconds > 0 else None
