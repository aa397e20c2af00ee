"""The time of a step: operations, bytes of memory, and bytes between devices that nothing hides."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import jax

from barrow.errors import ConfigError, nearest
from barrow.launch.constants import Constants, stored
from barrow.plan.predict import Plan, Subject, predict_memory
from barrow.train.mfu import PEAKS
from barrow.train.run import Run

# Bytes per second of memory, and those that a device sends to others of its host: vendors' figures.
_LINKS = {
    "B200": (8e12, 900e9),
    "H200": (4.8e12, 450e9),
    "H100": (3.35e12, 450e9),
    "A100": (2.0e12, 300e9),
    "L40S": (0.86e12, 32e9),
    "L4": (0.3e12, 16e9),
    "V100": (0.9e12, 150e9),
    "T4": (0.3e12, 8e9),
}
# What programs reach of them.
_SHARE = 0.7
# Of one core, where nothing was measured.
_CORE = Constants("cpu", {"float32": 4e10, "bfloat16": 1e10}, 8e9, 8e9, 1e9, 1e-4)
# Times that a value which exists is moved; fitted to GPT-2 124M on an H200.
_TOUCHES = 1
_LATENCY = 2e-5  # of one exchange between devices
# Share of the computation that gradients and parameters can travel during, on accelerators.
_HIDDEN = 0.5


@dataclass(frozen=True)
class Hardware:
    """So many devices, each with so many bytes, and what each does in a second.

    `is_cpu`: they share the cores of one; `is_here`: they are those of this process.
    """

    devices: int
    memory: int
    constants: Constants
    is_cpu: bool = False
    is_here: bool = False

    def subject(self, run: Run) -> Subject:
        """What is known about a run on this hardware."""
        is_fused = not self.is_cpu and run.step.precision.name != "fp32"
        return Subject(run, is_fused=is_fused)

    def __post_init__(self) -> None:
        if self.devices < 1:
            raise ConfigError(f"devices must be ≥ 1, got {self.devices}")
        if self.memory < 1:
            raise ConfigError(f"memory must be ≥ 1 byte, got {self.memory}")


def here() -> Hardware:
    """The devices of this run; those of a CPU share its cores and its memory."""
    devices = jax.devices()
    device = jax.local_devices()[0]
    stats = device.memory_stats() or {}
    constants = stored(device.device_kind)
    if device.platform != "cpu":
        limit = stats.get("bytes_limit", 16 << 30)
        kind = device.device_kind
        alike = kind if any(name in kind for name in _LINKS) else "A100"
        return Hardware(len(devices), limit, constants or known(alike), is_here=True)
    num = len(jax.local_devices())
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = 1 if constants else len(os.sched_getaffinity(0))
    one = constants or _CORE
    shared = Constants(
        one.device,
        {name: each * cores / num for name, each in one.flops.items()},
        one.memory_bandwidth / num,
        one.host_bandwidth / num,
        one.link_bandwidth or _CORE.link_bandwidth,
        one.dispatch,
    )
    return Hardware(len(devices), total // num, shared, is_cpu=True, is_here=True)


def known(kind: str) -> Constants:
    """Constants of a kind of accelerator by its name: what was measured, else the vendor's."""
    found = stored(kind)
    if found is not None:
        return found
    name = next((name for name in _LINKS if name in kind), None)
    peak = next((peak for name, peak in PEAKS if name in kind), None)
    if name is None or peak is None:
        raise ConfigError(f"unknown device {kind!r}; {nearest(kind, _LINKS)}")
    memory, link = _LINKS[name]
    # A product of float32 runs as TF32, at half the speed.
    flops = {"bfloat16": _SHARE * peak, "float16": _SHARE * peak, "float32": _SHARE * peak / 2}
    return Constants(kind, flops, _SHARE * memory, 2e10, _SHARE * link, 5e-6)


@dataclass(frozen=True)
class Time:
    """Seconds of a step, by what they are for; `waiting` is of stages without work."""

    products: float
    memory: float
    communication: float
    host: float
    waiting: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.products + self.memory + self.communication + self.host + self.waiting


def predict_time(subject: Subject, plan: Plan, hardware: Hardware) -> Time:
    """Seconds of a step of a plan."""
    constants, mesh = hardware.constants, plan.mesh
    memory = predict_memory(subject, plan)
    dtype = jax.numpy.dtype(subject.run.step.precision.dtype).name
    speed = constants.flops.get(dtype) or constants.flops["bfloat16"]
    products = subject.flops(plan) / hardware.devices / speed
    state = 2 * (memory.parameters + memory.optimizer)
    gradients = 2 * memory.gradients * plan.accumulate
    values = _TOUCHES * subject.peak(plan).written * plan.accumulate / mesh.stage
    traffic = (state + gradients + values) / constants.memory_bandwidth
    link = constants.link_bandwidth or constants.memory_bandwidth
    hidden, exposed, count = _exchanged(subject, plan)
    communication = hidden / link
    if not hardware.is_cpu:
        communication = max(0.0, communication - _HIDDEN * (products + traffic))
    communication += exposed / link + count * _LATENCY
    outside = 0.0
    if mesh.offload != "none":
        inside = subject.arrays(replace(mesh, offload="none")).optimizer
        outside = 2 * (inside - memory.optimizer) / constants.host_bandwidth
    waiting = (products + traffic) * (mesh.stage - 1) / (2 * mesh.stage) if mesh.stage > 1 else 0.0
    host = constants.dispatch + outside
    return Time(products, traffic, communication, host, waiting)


def _exchanged(subject: Subject, plan: Plan) -> tuple[float, float, int]:
    """Bytes that a device sends in a step: those that may be hidden, the others; exchanges."""
    mesh, times = plan.mesh, plan.accumulate
    leaves = jax.tree.leaves(subject.used)
    params = sum(math.prod(x.shape) * x.dtype.itemsize for x in leaves) / mesh.tensor / mesh.stage
    width = leaves[0].dtype.itemsize
    rows, fsdp = mesh.data * mesh.fsdp * mesh.expert, mesh.fsdp
    hidden, count = 2 * _ring(rows) * params * times, len(leaves) * times * (rows > 1)
    if fsdp > 1 and mesh.zero >= 1:
        gathers = {1: 1, 2: 1, 3: (2 + (plan.remat == "all")) * times}[mesh.zero]
        hidden += gathers * _ring(fsdp) * params
        count += gathers * len(leaves)
    layers = max(subject.sizes.get("layers", {1}))
    model: Any = subject.run.model
    embed = max(subject.sizes.get("embed", {getattr(model, "width", 1)}))
    length = subject.run.seq_len if subject.run.has_rows_of_tokens else 1
    one = subject.batch / rows * length / mesh.sequence * embed * width * layers / mesh.stage
    # Of each layer: two sums forward and two backward; q, k, v and the result there and back.
    exposed = 4 * 2 * _ring(mesh.tensor) * one + 8 * _ring(mesh.sequence) * one
    if mesh.expert > 1:
        exposed += 4 * _ring(mesh.expert) * one * model.experts.top_k
    axes = (mesh.tensor > 1, mesh.sequence > 1, mesh.expert > 1)
    count += 8 * layers * times * sum(axes)
    if mesh.stage > 1:  # of each micro-batch, from stage to stage, there and back
        exposed += 2 * one / layers * mesh.stage
        count += 6 * mesh.stage * times
    return hidden, exposed, count


def _ring(num: int) -> float:
    """Share of an array that each of `num` devices sends to gather it or to scatter its sums."""
    return (num - 1) / num
