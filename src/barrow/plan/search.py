"""All ways to divide a run over devices: which fit, which is fastest, what others would need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from barrow.errors import ConfigError
from barrow.parallel import AXES, num_row_shards
from barrow.plan.predict import Plan, Subject, predict_memory
from barrow.plan.times import Hardware, Time, predict_time
from barrow.train.profile.memory import Memory
from barrow.train.program import refuse_indivisible, refuse_uneven
from barrow.train.run import MeshSettings, Remat

GIB = 1 << 30
# The formula's total was this far from the compiler's at most (RoBERTa, tensor=2; 36 plans).
FORMULA_ERROR = 0.45
# A plan that is simpler is worth this much time.
_SIMPLER = 0.03
REMATS: tuple[Remat, ...] = ("none", "cheap", "attention", "all")
# Axes that need no fast links and keep every layer whole, which are tried first.
_FIRST = ("data", "fsdp", "expert")


@dataclass(frozen=True)
class Candidate:
    """A plan, and what it would take."""

    plan: Plan
    memory: Memory
    time: Time
    limit: int

    @property
    def excess(self) -> int:
        """Bytes above the limit; ≤ 0 if it fits."""
        return self.memory.total - self.limit

    @property
    def fits(self) -> bool:
        """Whether a device has room for it."""
        return self.excess <= 0

    def __str__(self) -> str:
        about = "" if self.memory.is_compiled else "about "
        return (
            f"plan: {self.plan}, {about}{self.memory.total / GIB:.2f} of {self.limit / GIB:.1f} GiB"
            f" a device, about {1000 * self.time.total:,.0f} ms a step"
        )


def candidate(subject: Subject, plan: Plan, hardware: Hardware) -> Candidate:
    """A plan, predicted; raises where it does not divide the run."""
    refuse_indivisible(plan.applied(subject.run), plan.abstract)
    memory = predict_memory(subject, plan)
    return Candidate(plan, memory, predict_time(subject, plan, hardware), hardware.memory)


def meshes(subject: Subject, devices: int, axes: Iterable[str]) -> Iterator[MeshSettings]:
    """Every mesh of so many devices along some axes that divides the run."""
    for sizes in _factors(devices, tuple(axes)):
        for zero in (1, 2, 3) if sizes.get("fsdp", 1) > 1 else (0,):
            whole: dict[str, Any] = dict.fromkeys(AXES, 1) | sizes
            plan = Plan(replace(subject.run.mesh, **whole, zero=zero))
            divided, shapes = plan.applied(subject.run), subject.state.params
            with suppress(ValueError):
                refuse_uneven(divided, plan.abstract, subject.axes, shapes)
                yield plan.mesh


def _factors(number: int, axes: tuple[str, ...]) -> Iterator[dict[str, int]]:
    if len(axes) == 1:
        yield {axes[0]: number}
        return
    for size in range(1, number + 1):
        if number % size == 0:
            yield from ({axes[0]: size, **rest} for rest in _factors(number // size, axes[1:]))


def accumulations(subject: Subject, mesh: MeshSettings) -> list[int]:
    """Numbers of micro-batches that divide the batch on a mesh, from the fewest."""
    rows = subject.batch // num_row_shards(Plan(mesh).abstract)
    found = []
    for num in range(1, rows + 1 if subject.is_split else 2):
        if rows % num == 0:
            plan = Plan(mesh, num)
            with suppress(ValueError):
                refuse_indivisible(plan.applied(subject.run), plan.abstract)
                found.append(num)
    return found


def largest_micro_batch(
    subject: Subject, mesh: MeshSettings, remat: Remat, hardware: Hardware, *, least: int = 1
) -> Candidate | None:
    """The fewest micro-batches that fit, from `least` on; else the one nearest to it."""
    closest = None
    for num in accumulations(subject, mesh):
        if num >= least:
            found = candidate(subject, Plan(mesh, num, remat), hardware)
            if found.fits:
                return found
            if closest is None or found.excess < closest.excess:
                closest = found
    return closest


def search(
    subject: Subject,
    hardware: Hardware,
    *,
    axes: Iterable[str] = AXES,
    remats: Iterable[Remat] = REMATS,
    least: int = 1,
) -> list[Candidate]:
    """The best of every mesh: those that fit by time, then the others by what is missing."""
    found = []
    for mesh in meshes(subject, hardware.devices, axes):
        tried: list[Candidate] = []
        for remat in remats:
            one = largest_micro_batch(subject, mesh, remat, hardware, least=least)
            tried += [] if one is None else [one]
            if one is not None and one.fits and one.plan.accumulate == least:
                break  # recomputing more saves nothing that is needed
        if tried:
            found.append(min(tried, key=_rank))
    if not found:
        raise ConfigError(
            f"a global batch of {subject.batch} rows cannot be divided over {hardware.devices} "
            f"devices; make data.batch a multiple of {hardware.devices}"
        )
    return sorted(found, key=_rank)


def _rank(one: Candidate) -> tuple[int, float]:
    """Those that fit by time, then the others by what is missing."""
    return max(one.excess, 0), one.time.total


def choose(subject: Subject, hardware: Hardware, *, least: int = 1) -> Candidate:
    """The fastest plan that fits; one that keeps layers whole and recomputes nothing if it can."""
    own = subject.run.remat
    steps = ((_FIRST, (own,)), (AXES, (own,)), (AXES, REMATS))
    found: list[Candidate] = []
    for axes, remats in steps:
        try:
            found = search(subject, hardware, axes=axes, remats=remats, least=least)
        except ConfigError:
            if axes == AXES and remats == REMATS:
                raise
            continue
        if found[0].fits:
            return _simplest([one for one in found if one.fits])
    raise ConfigError(no_fit(subject, found[0], hardware))


def _simplest(fitting: list[Candidate]) -> Candidate:
    """Of plans that are nearly as fast as the first, the one that divides least."""
    enough = fitting[0].time.total * (1 + _SIMPLER)
    near = [one for one in fitting if one.time.total <= enough]
    return min(near, key=lambda one: (one.plan.mesh.zero, one.plan.mesh.fsdp))


def would_fit(subject: Subject, short: Plan, hardware: Hardware) -> str:
    """What makes a plan fit: the first change that does, else all that are needed; or nothing."""
    changes = _changes(subject, short, hardware)
    for word, change in changes:
        if candidate(subject, change(short), hardware).fits:
            return word
    plan, words = short, {}
    for word, change in changes:
        plan = change(plan)
        words[word.partition("=")[0]] = word  # of two, the last
        if candidate(subject, plan, hardware).fits:
            return ", ".join(words.values())
    return ""


def for_same_bits(subject: Subject, plan: Plan) -> str:
    """How much attention takes that a setting saves; nothing where it is little."""
    held = subject.scores(plan) / GIB
    if held < 1:
        return ""
    return (
        f"; attention needs {held:.2f} GiB to give the same bits each time, and none with "
        "step.deterministic=false"
    )


def _changes(
    subject: Subject, plan: Plan, hardware: Hardware
) -> list[tuple[str, Callable[[Plan], Plan]]]:
    """Usual changes that save memory, those that cost least time first."""
    mesh, step, found = plan.mesh, subject.run.step, []

    def changed(**settings: Any) -> Callable[[Plan], Plan]:
        return lambda one: replace(one, **settings)

    def meshed(**sizes: Any) -> Callable[[Plan], Plan]:
        return lambda one: replace(one, mesh=replace(one.mesh, **sizes))

    together = mesh.data * mesh.fsdp
    if together > 1 and mesh.zero < 3:
        is_whole = mesh.fsdp == together
        word = "zero=3" if is_whole else f"fsdp={together} zero=3"
        found.append((word, meshed(data=1, fsdp=together, zero=3)))
    fewer = [num for num in accumulations(subject, mesh) if num > plan.accumulate]
    rows = subject.batch // num_row_shards(plan.abstract)
    tried = [candidate(subject, replace(plan, accumulate=num), hardware) for num in fewer]
    if tried:
        best = min(tried, key=lambda one: (not one.fits, one.excess * (not one.fits))).plan
        word = f"micro-batch {rows // best.accumulate}"
        found.append((word, changed(accumulate=best.accumulate)))
    more = REMATS[REMATS.index(plan.remat) + 1 :]
    found += [(f"remat={remat}", changed(remat=remat)) for remat in more]
    if mesh.offload == "none":
        found.append(("offload=host", meshed(offload="host")))
    if not mesh.offload_masters and step.precision.name != "fp32" and step.ema is None:
        place = "host" if mesh.offload == "none" else mesh.offload
        word = f"offload={place} with offload_masters"
        found.append((word, meshed(offload=place, offload_masters=True)))
    return found


def no_fit(subject: Subject, nearest: Candidate, hardware: Hardware) -> str:
    """Why no plan fits, by how much the best one does not, and what would."""
    fix = would_fit(subject, nearest.plan, hardware)
    num = hardware.devices
    while not fix and num < 4096:
        num *= 2
        more = replace(hardware, devices=num)
        mesh = replace(MeshSettings(), data=1, fsdp=num, zero=3)
        found = None
        if not subject.batch % num:
            found = largest_micro_batch(subject, mesh, "all", more)
        if found is not None and found.fits:
            fix = f"{num} devices with {found.plan}"
    return (
        f"no plan fits {hardware.devices} × {hardware.memory / GIB:.2f} GiB: {nearest.plan} needs "
        f"{nearest.memory.total / GIB:.2f} GiB a device, {nearest.excess / GIB:.2f} too many; "
        + (f"it would fit with {fix}" if fix else "use devices with more memory")
        + for_same_bits(subject, nearest.plan)
    )
