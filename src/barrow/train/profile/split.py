"""The time of a step in four parts, by what a device does.

- compute: an operation of the program runs.
- communication: none does, but devices exchange data (or a device and the host).
- input: nothing runs, and the loop waits for a batch.
- host: nothing runs for any other reason: dispatch, logging, saving.

Communication that is hidden by compute costs nothing, and is reported apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from barrow.train.profile.trace import Trace

KINDS = ("compute", "communication", "input", "host")
_COLUMNS = 160

Interval = tuple[float, float]


@dataclass(frozen=True)
class Split:
    """Seconds by kind, the mean of the devices; `timeline` has shares by device, column and kind.

    `hidden` are seconds of communication while operations ran.
    """

    seconds: dict[str, float]
    hidden: float
    timeline: dict[str, list[list[float]]]


def split(trace: Trace) -> Split:
    """What the devices did in the profiled steps."""
    devices = sorted({one.device for one in trace.operations})
    edges = np.linspace(trace.start, trace.end, _COLUMNS + 1)
    totals, hidden, timeline = np.zeros(len(KINDS)), 0.0, {}
    for device in devices:
        own = [one for one in trace.operations if one.device == device]
        compute, sent = (
            merged(((one.start, one.end) for one in own if one.is_communication == is_sent), trace)
            for is_sent in (False, True)
        )
        exposed = without(sent, compute)
        waits = without(without(merged(trace.waits, trace), compute), exposed)
        hidden += _length(sent) - _length(exposed)
        parts = np.stack([_by_column(kind, edges) for kind in (compute, exposed, waits)], axis=1)
        rest = np.maximum(0.0, np.diff(edges) - parts.sum(axis=1))
        parts = np.concatenate([parts, rest[:, None]], axis=1)
        totals += parts.sum(axis=0)
        timeline[device] = (parts / np.diff(edges)[:, None]).round(4).tolist()
    seconds = dict(zip(KINDS, (totals / len(devices)).tolist(), strict=True))
    return Split(seconds, hidden / len(devices), timeline)


def merged(intervals: Iterable[Interval], within: Trace) -> list[Interval]:
    """Their union, sorted and without overlaps, inside the profiled steps."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        start, end = max(start, within.start), min(end, within.end)
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif end > start:
            found.append((start, end))
    return found


def without(intervals: Sequence[Interval], others: Sequence[Interval]) -> list[Interval]:
    """What of some intervals is in none of the others; both are merged."""
    found, first = [], 0
    for start, end in intervals:
        while first < len(others) and others[first][1] <= start:
            first += 1
        at, number = start, first
        while number < len(others) and others[number][0] < end:
            if others[number][0] > at:
                found.append((at, others[number][0]))
            at, number = max(at, others[number][1]), number + 1
        if at < end:
            found.append((at, end))
    return found


def _length(intervals: Iterable[Interval]) -> float:
    return sum(end - start for start, end in intervals)


def _by_column(intervals: Sequence[Interval], edges: np.ndarray) -> np.ndarray:
    """How much of each column is covered."""
    if not intervals:
        return np.zeros(len(edges) - 1)
    times = np.asarray(intervals)
    covered = np.cumsum(times[:, 1] - times[:, 0])
    before = np.concatenate([[0.0], covered[:-1]])
    found: np.ndarray = np.diff(
        np.interp(edges, times.ravel(), np.stack([before, covered], axis=1).ravel())
    )
    return found
