"""The time of a step: operations, bytes of memory, and bytes between devices that nothing hides."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import jax

from barrow.errors import ConfigError, nearest
from barrow.launch.constants import Constants, Link, stored
from barrow.plan.predict import Plan, Subject, predict_memory
from barrow.train.mfu import PEAKS
from barrow.train.run import Run

# Vendors' figures: GB of memory, and bytes per second of it and to other devices of the host.
_KINDS = {
    "B200": (180, 8e12, 900e9),
    "H200": (141, 4.8e12, 450e9),
    "H100": (80, 3.35e12, 450e9),
    "A100": (80, 2.0e12, 300e9),
    "L40S": (48, 0.86e12, 32e9),
    "L4": (24, 0.3e12, 16e9),
    "V100": (32, 0.9e12, 150e9),
    "T4": (16, 0.3e12, 8e9),
}
# What programs reach of them.
_SHARE = 0.7
_LATENCY = 2e-5  # of an exchange between accelerators
# Of all cores together, as two were measured: operations, bytes, and of sums between devices.
_CORES = {"float32": 5e10, "bfloat16": 1e10}, 8e9, 2e9, 5e-4
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
    devices, device = jax.devices(), jax.local_devices()[0]
    kind, num = device.device_kind, len(jax.local_devices())
    constants = stored(kind, num)
    if device.platform != "cpu":
        limit = (device.memory_stats() or {}).get("bytes_limit", 16 << 30)
        alike = kind if any(name in kind for name in _KINDS) else "A100"
        return Hardware(len(devices), limit, constants or known(alike), is_here=True)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    constants = constants or _of_cores(len(os.sched_getaffinity(0)), num)
    return Hardware(len(devices), total // num, constants, is_cpu=True, is_here=True)


def _of_cores(cores: int, num: int) -> Constants:
    """Virtual devices that share cores, where nothing was measured."""
    (flops, memory, link, latency), share = _CORES, cores / num
    return Constants(
        device="cpu",
        flops={name: each * share for name, each in flops.items()},
        memory_bandwidth=memory * share,
        host_bandwidth=memory * share,
        dispatch=1e-4,
        links=(Link(num, latency, link * share),),
        devices=num,
    )


def known(kind: str) -> Constants:
    """Constants of a kind of accelerator by its name: what was measured, else the vendor's."""
    found = stored(kind)
    if found is not None:
        return found
    _, memory, link = _figures(kind)
    peak = next(peak for name, peak in PEAKS if name in kind)
    # A product of float32 runs as TF32, at half the speed.
    flops = {"bfloat16": _SHARE * peak, "float16": _SHARE * peak, "float32": _SHARE * peak / 2}
    links = (Link(8, _LATENCY, _SHARE * link),)
    return Constants(kind, flops, _SHARE * memory, 2e10, 5e-6, links)


def memory_of(kind: str) -> int:
    """Bytes of a kind of accelerator by its name, which may have been sold with less."""
    return int(_figures(kind)[0] * 10**9)


def _figures(kind: str) -> tuple[float, float, float]:
    name = next((name for name in _KINDS if name in kind), None)
    if name is None:
        raise ConfigError(f"unknown device {kind!r}; {nearest(kind, _KINDS)}")
    return _KINDS[name]


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
    memory, arrays = predict_memory(subject, plan), subject.arrays(mesh)
    dtype = jax.numpy.dtype(subject.run.step.precision.dtype).name
    speed = constants.flops.get(dtype) or constants.flops["bfloat16"]
    products = subject.flops(plan) / hardware.devices / speed
    state = 2 * (memory.parameters + memory.optimizer)
    gradients = 2 * memory.gradients * plan.accumulate
    values = subject.peak(plan).written * plan.accumulate / mesh.stage
    traffic = (state + gradients + values) / constants.memory_bandwidth
    hidden = exposed = 0.0
    for one in _exchanges(subject, plan):
        link = constants.link(one.devices)
        took = one.sent / link.bandwidth + one.count * link.latency
        hidden, exposed = hidden + took * one.is_hidden, exposed + took * (not one.is_hidden)
    if not hardware.is_cpu:
        hidden = max(0.0, hidden - _HIDDEN * (products + traffic))
    waiting = (products + traffic) * (mesh.stage - 1) / (2 * mesh.stage)
    host = constants.dispatch + 2 * arrays.outside / constants.host_bandwidth
    return Time(products, traffic, hidden + exposed, host, waiting)


@dataclass(frozen=True)
class _Exchange:
    """Bytes that a device sends to others of its group in a step, in so many exchanges.

    With `is_hidden` it may compute meanwhile.
    """

    devices: int
    sent: float
    count: int
    is_hidden: bool = False


def _exchanges(subject: Subject, plan: Plan) -> list[_Exchange]:
    mesh, times = plan.mesh, plan.accumulate
    leaves = jax.tree.leaves(subject.used)
    params = sum(math.prod(x.shape) * x.dtype.itemsize for x in leaves) / mesh.tensor / mesh.stage
    width = leaves[0].dtype.itemsize
    rows, fsdp = mesh.data * mesh.fsdp * mesh.expert, mesh.fsdp
    # The compiler sums gradients of all parameters in a few exchanges, and gathers them one by one.
    found = [_Exchange(rows, 2 * _ring(rows) * params * times, 2 * times, is_hidden=True)]
    if fsdp > 1 and mesh.zero >= 1:
        gathers = (2 + (plan.remat == "all")) * times if mesh.zero == 3 else 1
        sent = gathers * _ring(fsdp) * params
        found.append(_Exchange(fsdp, sent, gathers * len(leaves), is_hidden=True))
    layers = max(subject.sizes.get("layers", {1}))
    model: Any = subject.run.model
    embed = max(subject.sizes.get("embed", {getattr(model, "width", 1)}))
    length = subject.run.seq_len if subject.run.has_rows_of_tokens else 1
    one = subject.batch / rows * length / mesh.sequence * embed * width * layers / mesh.stage
    # Of each layer: two sums forward and two backward; q, k, v and the result there and back.
    each = 8 * layers * times
    found.append(_Exchange(mesh.tensor, 4 * 2 * _ring(mesh.tensor) * one, each // 2))
    found.append(_Exchange(mesh.sequence, 8 * _ring(mesh.sequence) * one, each))
    if mesh.expert > 1:
        sent = 4 * _ring(mesh.expert) * one * model.experts.top_k
        found.append(_Exchange(mesh.expert, sent, each))
    # Of each micro-batch, from stage to stage, there and back.
    found.append(_Exchange(mesh.stage, 2 * one / layers * mesh.stage, 6 * mesh.stage * times))
    return [one for one in found if one.devices > 1]


def _ring(num: int) -> float:
    """Share of an array that each of `num` devices sends to gather it or to scatter its sums."""
    return (num - 1) / num
