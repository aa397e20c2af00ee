"""The choice of a plan: predicted, or measured with the best few; kept beside the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax

from barrow import config
from barrow.errors import ConfigError
from barrow.files import make_folder, write_bytes
from barrow.plan.predict import Plan, Subject
from barrow.plan.search import (
    GIB,
    REMATS,
    accumulations,
    candidate,
    choose,
    for_same_bits,
    search,
    would_fit,
)
from barrow.plan.times import Hardware, here
from barrow.plan.worker import Answer, Request, ask
from barrow.stream import StreamSettings
from barrow.stream.pairs import PairSettings
from barrow.train.run import MeshSettings, Run
from barrow.train.tasks.task import task_of

NAME = "plan.json"
# Plans that are measured, and the steps of each.
_FEW = 3
_STEPS = 3


@dataclass(frozen=True)
class Measured:
    """A plan that was tried: seconds of a step, and peak bytes; None if it ran out of memory."""

    plan: Plan
    seconds: float | None
    peak: int | None


@dataclass(frozen=True)
class Choice:
    """The plan of a run, for so many devices of a kind, and what it was chosen from."""

    plan: Plan
    device: str
    devices: int
    measured: tuple[Measured, ...] = ()


def autotune(
    subject: Subject,
    hardware: Hardware,
    *,
    few: int = _FEW,
    measure: Callable[[Run], Answer] | None = None,
    least: int = 1,
    is_split: bool = True,
) -> tuple[Measured, ...]:
    """Measure the best few plans, the fastest first.

    Where there are fewer meshes, the best one is tried with other micro-batches and recomputation.
    A plan that runs out of memory is tried with smaller micro-batches. Raises if none runs.
    """
    devices, limit = (hardware.devices, hardware.memory) if hardware.is_cpu else (None, None)
    measure = measure or (lambda run: ask(Request(run, _STEPS, limit), devices=devices))
    ranked = [one.plan for one in search(subject, hardware, least=least) if one.fits]
    if not ranked:
        choose(subject, hardware, least=least)  # says why
    mesh = ranked[0].mesh
    nums = [n for n in accumulations(subject, mesh) if n >= least]
    others = [Plan(mesh, n, remat) for n in (nums if is_split else nums[:1]) for remat in REMATS]
    found: dict[Plan, Measured] = {}
    for first in list(dict.fromkeys([*ranked, *others]))[:few]:
        nums = [n for n in accumulations(subject, first.mesh) if n >= first.accumulate]
        for num in nums if is_split else nums[:1]:
            plan = replace(first, accumulate=num)
            if plan not in found:
                tried = measure(plan.applied(subject.run))
                found[plan] = Measured(plan, tried.seconds, tried.peak)
            if found[plan].seconds is not None:
                break
    if all(one.seconds is None for one in found.values()):
        tried_plans = "; ".join(map(str, found))
        raise ConfigError(f"every plan that was tried ran out of memory: {tried_plans}")
    return tuple(sorted(found.values(), key=lambda one: one.seconds or float("inf")))


def planned(
    run: Run,
    folder: Path,
    *,
    is_given: bool,
    is_fixed: bool,
    tune: bool = False,
    write: Callable[[str], None],
    hardware: Hardware | None = None,
) -> Run:
    """The run as it is divided over the devices here; `write` gets one line about it.

    A mesh that is given, or that a recipe has, stays. A choice that was kept for the same devices
    is used again. On one device nothing is chosen. With `is_fixed` micro-batches stay as they are.
    """
    is_known = isinstance(run.data, StreamSettings | PairSettings)
    if is_given or not is_known or getattr(task_of(run), "is_apart", False):
        return run
    path = folder / NAME
    kept = config.from_json(Choice, path.read_text(), where=path) if path.is_file() else None
    if kept is None and run.mesh != MeshSettings():
        return run
    devices = jax.devices()
    kind = devices[0].device_kind
    if kept is not None:
        run = replace(run, mesh=kept.plan.mesh) if is_fixed else kept.plan.applied(run)
        is_fixed = True  # a run that resumes has the micro-batches that it began with
        if (kept.device, kept.devices) == (kind, len(devices)) and not tune:
            write(f"plan: {Plan.of(run, len(devices))}, from {path}")
            return run
    run = replace(run, mesh=MeshSettings())
    hardware = hardware or here()
    if len(devices) == 1 and not tune:
        write(_on_one(run, hardware))
        return run
    subject = hardware.subject(run)
    least = run.step.accumulate if is_fixed else 1
    measured: tuple[Measured, ...] = ()
    if tune:
        measured = autotune(subject, hardware, few=_FEW, least=least, is_split=not is_fixed)
        plan, words = measured[0].plan, f"{1000 * (measured[0].seconds or 0):,.0f} ms a step"
        write(f"plan: {plan}, {words}, the fastest of {len(measured)} measured")
    else:
        chosen = choose(subject, hardware, least=least)
        plan = chosen.plan
        write(str(chosen))
    if plan.mesh == replace(MeshSettings(), data=len(devices)):
        plan = replace(plan, mesh=MeshSettings())  # as many as there are, when it resumes
    make_folder(folder)
    choice = Choice(plan, kind, len(devices), measured)
    write_bytes(path, config.to_json(choice).encode())
    return plan.applied(run)


def _on_one(run: Run, hardware: Hardware) -> str:
    """One device: parameters and what the optimizer keeps, which takes no time to count.

    `advice` predicts the rest.
    """
    task = task_of(run)

    def make(key: jax.Array) -> Any:
        params = task.model.init(key, *task.example)
        return params, task.optimizer().init(params)

    shapes = jax.tree.leaves(jax.eval_shape(make, jax.random.key(0)))
    num = sum(x.size * x.dtype.itemsize for x in shapes)
    words = f"at least {num / GIB:.2f} of {hardware.memory / GIB:.1f} GiB"
    return f"plan: one device, {words}" + ("" if num <= hardware.memory else ": too little")


def advice(run: Run, hardware: Hardware | None = None) -> str:
    """What a run that ran out of memory needs, and what would fit."""
    hardware = hardware or here()
    subject = hardware.subject(run)
    found = candidate(subject, Plan.of(run, hardware.devices), hardware)
    fix = would_fit(subject, found.plan, hardware)
    words = str(found) + (f"; {fix} would fit" if fix else "")
    return words + for_same_bits(subject, found.plan)
