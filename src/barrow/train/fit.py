"""The loop: an ordinary function, to be used or copied."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import jax
from jax.profiler import TraceAnnotation

from barrow import config
from barrow.checkpoint.checkpoints import Checkpoints
from barrow.checkpoint.folder import locate, open_index
from barrow.errors import CheckpointError, ConfigError, Diverged
from barrow.files import local_path, locked, make_folder
from barrow.interrupt import Interrupted, remembered, stop_on_signals
from barrow.parallel import placing, watch
from barrow.parallel.processes import Peers, open_peers
from barrow.stream import Prefetch
from barrow.train.metrics_log import Logbook, Trouble
from barrow.train.objectives.objective import Mean
from barrow.train.profile import Profile, profiling
from barrow.train.profile.trace import INPUT
from barrow.train.program import Program, make_program
from barrow.train.run import Run, all_settings
from barrow.train.run_folder import RunFolder, about
from barrow.train.start import initial_params
from barrow.train.state import TrainState
from barrow.train.tasks.task import Data, Judged, Started, opened, task_of
from barrow.train.trackers import JsonLines, Tracker
from barrow.train.watch import Watch

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.train.tasks.task import Data


Item = TypeVar("Item")
# Documents of a bad batch that a message lists.
_SHOWN = 8


def fit(
    run: Run,
    out: str | os.PathLike[str],
    *,
    trackers: Sequence[Tracker] = (),
    profile: Profile | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> TrainState:
    """Train, and return the last state. Settings, log and checkpoints go to the folder `out`.

    A run in that folder resumes from its newest checkpoint, as if it had never stopped. Ctrl-C
    finishes the step, saves, and raises `Interrupted`. A loss or gradient that is not finite, or a
    loss that leaps, raises `Diverged`; the checkpoint before it stays.

    With several processes (`jax.distributed.initialize`) each calls this, with the same run and
    folder. If one fails, the others raise `PeerFailed`; one that waits for devices that never
    answer exits with code 1.
    """
    with (
        remembered(),
        open_peers("run").watched(shared=(Interrupted, Diverged)) as others,
        watch.busy("training"),
    ):
        folder = RunFolder(local_path(out))
        return _fit(run, folder, others, trackers=trackers, profile=profile, clock=clock)


def _fit(
    run: Run,
    folder: RunFolder,
    others: Peers,
    *,
    trackers: Sequence[Tracker],
    profile: Profile | None,
    clock: Callable[[], float],
) -> TrainState:
    task = task_of(run)
    data, validation = opened(task)
    _refuse_too_few(run, data)
    checkpoints = Checkpoints(
        folder.checkpoints,
        keep_last=run.checkpoint.keep_last,
        keep_every=run.checkpoint.keep_every,
    )
    if checkpoints.latest() is None and (steps := checkpoints.passed_over()):
        _refuse_none_whole(folder, steps)
    start = checkpoints.to_resume()
    if profile is not None:
        profile = profile.placed(run, start or 0)
    others.agree("settings", _words(run, folder, start, data, validation))
    is_on_disk = run.mesh.offload == "disk"
    if is_on_disk:
        make_folder(folder.path)
    program = make_program(run, folder.path)
    if jax.default_backend() == "gpu" and others.num == 1:
        # While parameters are made or read.
        program.prepare(data.place(start or 0, program.placement.rows()))
    if start is None:
        start, losses = 0, Watch()
        if isinstance(task, Started):
            state = task.start(program)
        else:
            state = program.start(_given(run, program, data))
    else:
        folder.check(run, data, start)
        if others.process == 0:
            with locked(folder.path, others="training there"):
                checkpoints.tidy()
        losses = config.from_dict(Watch, checkpoints.about(start).get("watch", {}))
        state = checkpoints.restore(start, program.shapes, shardings=program.shardings)
    saved = checkpoints.about(start) if start else {}
    judge = task.judge(folder.path, saved) if isinstance(task, Judged) else None
    if judge is not None and judge.is_over:
        return state
    rows = program.placement.rows()

    def evaluate() -> Mapping[str, Mean | float]:
        if judge is not None:
            return judge.measures(state)
        assert validation is not None
        with feed(validation, rows, stop=run.evaluation.batches) as batches:
            return program.evaluate(state, (batch for _, batch in batches))

    with (
        _open_trackers(folder, run, data, start, trackers, others) as active,
        stop_on_signals() as stop,
    ):
        log = Logbook(run, program, active, watch=losses, clock=clock)
        batches = feed(data, rows, start=start, stop=run.steps, ahead=run.prefetch)
        profiled = profiling(profile, run, program, folder.path)
        with checkpoints, _named(data, folder, checkpoints), batches, profiled as advance:
            for step, batch in _waits(batches):
                with watch.call("step", step=step):
                    state, metrics = advance(state, batch)
                    log.add(step, task.work(batch, program.num_params), metrics)
                done = step + 1
                is_last = done == run.steps
                is_stopped = others.stops(step, is_asked=stop.asked)
                is_judged = judge is not None or validation is not None
                if is_judged and (is_last or _is_due(done, run.evaluation.every)):
                    with watch.call("evaluation", step=step):
                        log.evaluated(evaluate)
                is_last = is_last or (judge is not None and judge.is_over)
                if is_last or is_stopped or _is_due(done, run.checkpoint.every):
                    with watch.call("save", step=step):
                        log.settle()
                        more = {} if judge is None else judge.about()
                        described = about(run, data, watch=log.watch, **more)
                        # What is on disk is written from there, before a step changes it.
                        checkpoints.save(state, described, wait=is_on_disk)
                if is_last:
                    break
                if is_stopped:
                    checkpoints.wait()
                    raise Interrupted(
                        f"stopped after step {step}, {run.steps - done} left; saved. To "
                        f"resume: barrow train {folder.path}"
                    )
    return state


def _waits(batches: Iterator[Item]) -> Iterator[Item]:
    """The batches; a trace shows how long the loop waits for each."""
    while True:
        with TraceAnnotation(INPUT):
            found = next(batches, None)
        if found is None:
            return
        yield found


def _given(run: Run, program: Program, data: Data) -> dict[str, Any]:
    if not run.init:
        return {}
    trust = config.outside(run)
    fresh = getattr(program.task, "fresh", ())
    return initial_params(
        run.init,
        program.shapes.params,
        data,
        fresh=fresh,
        trust=trust,
        place=placing(program.placement.zero.masters, program.placement.mesh),
    )


def _is_due(done: int, every: int | None) -> bool:
    return every is not None and done % every == 0


def _refuse_too_few(run: Run, data: Data) -> None:
    if data.num_steps is not None and data.num_steps < run.steps:
        raise ConfigError(
            f"the stream ends after {data.num_steps} steps, but the run has {run.steps}: "
            "use fewer steps, or more epochs"
        )


def _words(
    run: Run, folder: RunFolder, start: int | None, data: Data, validation: Data | None
) -> dict[str, Any]:
    """What the processes of a run must have in common."""
    return {
        "out": str(folder.path),
        "newest checkpoint": start,
        "data": data.identity,
        "validation": None if validation is None else validation.identity,
        **all_settings(run),
    }


def _refuse_none_whole(folder: RunFolder, steps: Sequence[int]) -> None:
    """Starting again would truncate the log of a run that may still be recovered."""
    newest = locate(folder.checkpoints, steps[-1])
    try:
        open_index(newest)
    except CheckpointError as error:
        cause = (
            f"{error.cause}; no checkpoint is complete: restore one, or remove them to start again"
        )
        raise CheckpointError(cause, reason=error.reason, folder=newest) from None


@contextmanager
def _open_trackers(
    folder: RunFolder,
    run: Run,
    data: Data,
    start: int,
    trackers: Sequence[Tracker],
    others: Peers,
) -> Iterator[Sequence[Tracker]]:
    """The trackers, opened and finally closed; only the first process of a run has any."""
    if others.process != 0:
        others.agree("begin", {})
        yield ()
        return
    active: list[Tracker] = [JsonLines(folder.log), *trackers]
    begun: list[Tracker] = []
    make_folder(folder.path)
    with locked(folder.path, others="training there"):
        folder.write(run, data)
        try:
            for tracker in active:
                tracker.begin(config.to_dict(run), start)
                begun.append(tracker)
            others.agree("begin", {})
            yield active
        finally:
            for tracker in begun:
                tracker.close()


@contextmanager
def _named(data: Data, folder: RunFolder, checkpoints: Checkpoints) -> Iterator[Any]:
    """Turns `Trouble` into an error that names the documents of the step and what is saved."""
    try:
        yield
    except Trouble as trouble:
        checkpoints.wait()
        seen = data.describe(trouble.step)
        lines = [f"  {one}" for one in seen[:_SHOWN]]
        if len(seen) > _SHOWN:
            lines.append(f"  and {len(seen) - _SHOWN} more")
        kept = _kept(checkpoints.steps(), trouble.good)
        raise Diverged(
            f"step {trouble.step}: {trouble.reason}. Checkpoints: {kept}. In the batch "
            f"(all: barrow tokens lineage {folder.path} --step {trouble.step}):\n"
            + "\n".join(lines),
            step=trouble.step,
        ) from None


def _kept(steps: Sequence[int], good: int) -> str:
    """Which checkpoints are good: those after which the next loss was good."""
    if not steps:
        return "there is none yet"
    well = [step for step in steps if step <= good]
    kept = f"step {well[-1]} is good" if well else "none is known to be good"
    if steps[-1] > good:
        kept += f", step {steps[-1]} gave this loss: remove it to resume without it"
    return kept


def feed(
    data: Data, sharding: Sharding, *, start: int = 0, stop: int | None = None, ahead: int = 2
) -> Prefetch[dict[str, Any]]:
    """(step, batch on the devices) from a step on; so many are prepared ahead."""
    ends = [end for end in (stop, data.num_steps) if end is not None]
    return Prefetch(
        lambda step: data.place(step, sharding),
        start=start,
        stop=min(ends, default=None),
        depth=ahead,
        threads=max(1, ahead // 2),
    )
