"""Profiles some steps of a run, and writes profile.json and profile.html to its folder."""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from barrow.errors import ConfigError
from barrow.files import remove, write_bytes
from barrow.nn.flops import flops
from barrow.train.mfu import peak_flops
from barrow.train.profile.advice import advise
from barrow.train.profile.kernels import named
from barrow.train.profile.memory import memory_by_kind
from barrow.train.profile.operations import by_module, by_operation, origins
from barrow.train.profile.page import profile_page
from barrow.train.profile.split import split
from barrow.train.profile.trace import WINDOW, read_trace
from barrow.train.program import Program
from barrow.train.run import Run
from barrow.train.step import Step


@dataclass(frozen=True)
class Profile:
    """Which steps are profiled.

    - `steps`: so many; `after`: so many others, of which the first compiles, come before them.
    - `ceiling`: FLOP/s that one device was measured to reach; None for the vendor's figure.
    """

    steps: int = 5
    after: int = 3
    ceiling: float | None = None

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ConfigError(f"the steps of a profile must be ≥ 1, got {self.steps}")
        if self.after < 3:
            raise ConfigError(f"a profile must come after ≥ 3 steps, got {self.after}")

    @property
    def needed(self) -> int:
        """Steps a run must have left: one is traced before those profiled, and one follows."""
        return self.after + self.steps + 2

    def placed(self, run: Run, start: int) -> Profile:
        """Later, if that leaves out evaluations and checkpoints; an error if the run is shorter.

        The run begins at step `start`.
        """
        left = run.steps - start
        if left < self.needed:
            most = left - self.needed + self.steps
            raise ConfigError(
                f"a profile of {self.steps} steps needs {self.needed} steps, and the run has "
                f"{left} left: "
                + (f"profile at most {most}, or " if most > 0 else "")
                + "train for more steps"
            )
        for later in range(left - self.needed + 1):
            first = start + self.after + later + 1
            done = range(first + 1, first + self.steps + 1)
            rhythms = (run.evaluation.every, run.checkpoint.every)
            if not any(every and number % every == 0 for every in rhythms for number in done):
                return replace(self, after=self.after + later)
        return self


@contextmanager
def profiling(settings: Profile | None, run: Run, program: Program, folder: Path) -> Iterator[Step]:
    """The step of a program, which profiles itself; without settings, the step as it is.

    A profile that fails is a warning: the run continues.
    """
    if settings is None:
        yield program.advance
        return
    for name in ("profile.json", "profile.html"):  # of an earlier one
        remove(folder / name)
    profiler = _Profiler(settings, run, program, folder)
    try:
        yield profiler.advance
    finally:
        profiler.stop()


class _Profiler:
    def __init__(self, settings: Profile, run: Run, program: Program, folder: Path) -> None:
        self._settings, self._run, self._program, self._folder = settings, run, program, folder
        self._calls, self._first = 0, settings.after + 1
        self._clock = self._untraced = 0.0
        self._trace: tempfile.TemporaryDirectory[str] | None = None
        self._window: Any = None
        self._has_failed = False

    def advance(self, state: Any, batch: Any) -> Any:
        """The step; before some of them the trace starts, is marked, or ends."""
        act = {
            self._first - 3: self._begin_clock,
            self._first - 1: self._begin_trace,
            self._first: self._begin_window,
            self._first + self._settings.steps: lambda: self._finish(state, batch),
        }.get(self._calls)
        if act is not None and not self._has_failed:
            try:
                jax.block_until_ready(state)
                act()
            except Exception as error:  # noqa: BLE001 - a profile must not end a run
                self._has_failed = True
                warnings.warn(f"there is no profile: {error}", stacklevel=2)
        self._calls += 1
        return self._program.advance(state, batch)

    def stop(self) -> None:
        """End a trace that is still open, and remove its files."""
        if self._trace is not None:
            self._stop_trace()
            self._trace.cleanup()
            warnings.warn("there is no profile: the run ended before it", stacklevel=2)

    def _begin_clock(self) -> None:
        self._clock = time.perf_counter()

    def _begin_trace(self) -> None:
        self._untraced = (time.perf_counter() - self._clock) / 2
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0  # a call of a function costs more than a small operation
        options.host_tracer_level = 2
        folder = tempfile.TemporaryDirectory(prefix="barrow-profile-")
        try:
            jax.profiler.start_trace(folder.name, profiler_options=options)
        except BaseException:  # such as another profiler that is active
            folder.cleanup()
            raise
        self._trace = folder

    def _begin_window(self) -> None:
        self._window = jax.profiler.TraceAnnotation(WINDOW)
        self._window.__enter__()
        self._begin_clock()

    def _stop_trace(self) -> None:
        if self._window is not None:
            self._window.__exit__(None, None, None)
            self._window = None
        jax.profiler.stop_trace()

    def _finish(self, state: Any, batch: Any) -> None:
        seconds = (time.perf_counter() - self._clock) / self._settings.steps
        assert self._trace is not None
        with self._trace as folder:
            self._trace = None
            self._stop_trace()
            report = self._report(state, batch, Path(folder), seconds)
        if jax.process_index() == 0:
            text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
            write_bytes(self._folder / "profile.json", text.encode() + b"\n")
            write_bytes(self._folder / "profile.html", profile_page(report).encode())

    def _report(self, state: Any, batch: Any, folder: Path, seconds: float) -> dict[str, Any]:
        program, steps = self._program, self._settings.steps
        trace = read_trace(folder)
        parts = split(trace)
        devices = list(program.placement.mesh.devices.flat)
        lower = getattr(program.advance, "lower", None)
        compiled = None if lower is None else lower(state, batch).compile()
        text = "" if compiled is None else compiled.as_text()
        known, ran = origins(text), named(trace.operations, text)
        counted = None if compiled is None else flops(program.advance, state, batch)
        work = program.task.work(batch, program.num_params)
        stats = jax.local_devices()[0].memory_stats() or {}
        ceiling, source = peak_flops(devices), "vendor"
        if self._settings.ceiling is not None:
            ceiling, source = self._settings.ceiling * len(devices), "measured"
        rate = (work.flops if counted is None else counted.total) / seconds
        first = int(state.step) - steps
        report = {
            "device": devices[0].device_kind,
            "devices": len(devices),
            "precision": self._run.step.precision.name,
            "first_step": first,
            "steps": steps,
            "step_seconds": seconds,
            "untraced_step_seconds": self._untraced,
            "split": {kind: value / steps for kind, value in parts.seconds.items()},
            "hidden_communication": parts.hidden / steps,
            "flops": {
                "counted": None if counted is None else counted.total,
                "model": work.flops,
                "not_counted": [] if counted is None else list(counted.unknown),
            },
            "speed": {
                "flops_per_second": rate,
                "ceiling": ceiling,
                "ceiling_source": source if ceiling else None,
                "share": rate / ceiling if ceiling else None,
            },
            "memory": {
                "by_kind": memory_by_kind(program, self._run.step, batch, compiled),
                "peak": stats.get("peak_bytes_in_use"),
                "limit": stats.get("bytes_limit"),
            },
            "modules": by_module(ran, known, steps=steps),
            "operations": by_operation(ran, known, steps=steps),
            "timeline": parts.timeline,
        }
        return report | {"advice": advise(report)}
