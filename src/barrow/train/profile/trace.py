"""Reads a trace of `jax.profiler`: operations on devices, and waits of the loop.

GPUs have a plane each, with a line for every stream; TPUs a plane with the line "XLA Ops"; CPU
devices share the plane of the host, where an operation names its device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.profiler

# Annotations of the loop: the profiled steps, and waiting for a batch.
WINDOW, INPUT = "barrow: window", "barrow: input"

_NANOSECOND = 1e-9
# They contain other operations, which are in the trace themselves.
_CONTAINERS = re.compile(r"(while|call|conditional)(\.|$)")
_COMMUNICATION = re.compile(
    r"all-reduce|all-gather|all-to-all|reduce-scatter|collective-|^(send|recv)\b|^nccl"
    r"|memcpy ?(h2d|d2h|p2p|htod|dtoh|ptop)",
    re.IGNORECASE,
)


class UnreadableTrace(Exception):
    """A trace in which the profiled steps cannot be found."""


@dataclass(frozen=True)
class Operation:
    """One execution of an operation: its name in the compiled program, where and when (seconds)."""

    name: str
    device: str
    start: float
    end: float
    is_communication: bool


@dataclass(frozen=True)
class Trace:
    """The profiled steps, from `start` to `end`, by the clock of the trace in seconds."""

    start: float
    end: float
    operations: tuple[Operation, ...]
    waits: tuple[tuple[float, float], ...]


def read_trace(folder: Path) -> Trace:
    """The trace that `jax.profiler.start_trace(folder)` wrote; `UnreadableTrace` if it cannot be.

    Of several the newest is read.
    """
    files = sorted(folder.rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime)
    if not files:
        raise UnreadableTrace(f"{folder} has no trace (*.xplane.pb)")
    try:
        planes = list(jax.profiler.ProfileData.from_file(str(files[-1])).planes)
    except Exception as error:
        raise UnreadableTrace(f"{files[-1]} is not a trace: {error}") from error
    windows: list[tuple[float, float]] = []
    waits: list[tuple[float, float]] = []
    operations: list[Operation] = []
    for plane in planes:
        if plane.name.startswith("/device:"):
            operations += _on_device(plane)
        elif plane.name.startswith("/host:"):
            operations += _on_host(plane, {WINDOW: windows, INPUT: waits})
    if not windows:
        raise UnreadableTrace(f"{files[-1]}: the profiled steps are not in the trace")
    start, end = windows[-1]
    seen = tuple(one for one in operations if one.end > start and one.start < end)
    if not seen:
        raise UnreadableTrace(f"{files[-1]}: no operation of a device is in the trace")
    return Trace(start, end, seen, tuple(waits))


def _on_device(plane: Any) -> Iterator[Operation]:
    lines = list(plane.lines)
    streams = [line for line in lines if line.name.startswith("Stream")]
    for line in streams or [line for line in lines if line.name == "XLA Ops"]:
        for event in line.events:
            known = dict(event.stats)
            name = str(known.get("hlo_op") or event.name)
            if name.startswith("command_buffer"):  # many operations, as a CUDA graph
                name = event.name
            is_communication = bool(
                _COMMUNICATION.search(event.name) or _COMMUNICATION.search(name)
            )
            if not _CONTAINERS.match(name) or streams:
                start, end = _times(event)
                yield Operation(name, plane.name, start, end, is_communication)


def _on_host(plane: Any, marks: dict[str, list[tuple[float, float]]]) -> Iterator[Operation]:
    """Notes the marks, and yields operations of CPU devices.

    An operation that continues on other threads ends at the event "end: …", which has its number.
    """
    ends: dict[Any, float] = {}
    begun: list[tuple[Any, Operation]] = []
    for line in plane.lines:
        for event in line.events:
            if event.name in marks:
                marks[event.name].append(_times(event))
                continue
            known = dict(event.stats)
            if event.name.startswith("end: ") and "_c" in known:
                ends[known["_c"]] = event.start_ns * _NANOSECOND
            elif "hlo_op" in known and not _CONTAINERS.match(event.name):
                name, device = str(known["hlo_op"]), f"CPU {known.get('device_ordinal', 0)}"
                is_communication = bool(_COMMUNICATION.search(name))
                one = Operation(name, device, *_times(event), is_communication)
                begun.append((known.get("_p"), one))
    for number, one in begun:
        end = max(one.end, ends.get(number, one.end))
        yield Operation(one.name, one.device, one.start, end, one.is_communication)


def _times(event: Any) -> tuple[float, float]:
    return event.start_ns * _NANOSECOND, (event.start_ns + event.duration_ns) * _NANOSECOND
