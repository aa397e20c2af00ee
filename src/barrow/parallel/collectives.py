"""What a compiled program sends between devices, read from its text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"]
_COMPUTATION = re.compile(r"(ENTRY )?%([\w.-]+) \(.*\{$")
_LINE = re.compile(r"\s+(?:ROOT )?%([\w.-]+) = (\(.*?\)(?= [a-z])|\S+) ([\w-]+)\((.*)$")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d+)\w*\[([\d,]*)\]")
_CALLED = re.compile(r"(?:body|calls|to_apply|branch_computations)=\{?(%[\w.-]+(?:, %[\w.-]+)*)")
_TRIPS = re.compile(r'known_trip_count[^0-9]*"(\d+)"')
# What only names, orders or converts the elements of its operand.
_SAME = {"bitcast", "convert", "copy", "get-tuple-element", "reshape", "transpose"}


@dataclass(frozen=True)
class Collective:
    """One array that devices of a group exchange, `times` in one execution of the program.

    `size` is the bytes of the whole array: of all parts, where it is gathered or divided.
    `is_sliced`: each device uses only its part of a sum, which makes it a reduce-scatter on
    platforms whose compiler knows those. Arrays of one instruction have the same `name`; `layer`
    is the operation of the model that it belongs to.
    """

    kind: Kind
    name: str
    size: int
    group: int
    times: int
    layer: str
    is_sliced: bool = False

    @property
    def sent(self) -> float:
        """Bytes that a device sends in an execution, around a ring."""
        whole = 2 if self.kind == "all-reduce" and not self.is_sliced else 1
        share = 1 if self.kind == "collective-permute" else (self.group - 1) / self.group
        return whole * share * self.size * self.times


@dataclass(frozen=True)
class _Line:
    name: str
    result: str
    kind: str
    operands: tuple[str, ...]
    rest: str


def collectives(text: str) -> list[Collective]:
    """The collectives of a program: of ``jax.jit(…).lower(…).compile().as_text()``."""
    parts: dict[str, list[_Line]] = {}
    entry = ""
    for line in text.splitlines():
        if found := _COMPUTATION.match(line):
            entry = found[2] if found[1] else entry
            current = parts.setdefault(found[2], [])
        elif found := _LINE.match(line):
            inside, _, rest = found[4].partition(")")
            operands = tuple(re.findall(r"%([\w.-]+)", inside))
            current.append(_Line(found[1], found[2], found[3], operands, inside + rest))
    devices = int((re.search(r"num_partitions=(\d+)", text) or [0, 1])[1])
    return list(_of(entry, 1, parts, devices))


def _of(
    computation: str, times: int, parts: dict[str, list[_Line]], devices: int
) -> Iterator[Collective]:
    lines = parts[computation]
    results = {line.name: line.result for line in lines}
    for line in lines:
        for called in _CALLED.findall(line.rest):
            trips = int((_TRIPS.search(line.rest) or [0, 1])[1]) if line.kind == "while" else 1
            for one in re.findall(r"%([\w.-]+)", called):
                yield from _of(one, times * trips, parts, devices)
        kind = line.kind.removesuffix("-start")
        if kind not in get_args(Kind):
            continue
        group = _group(line.rest, devices)
        layer = (re.search(r'op_name="([^"]*)"', line.rest) or ["", ""])[1]
        for number, operand in enumerate(line.operands):
            size = _bytes(results[operand]) * (group if kind == "all-gather" else 1)
            made = [line.name]
            if len(line.operands) > 1:
                made = [x.name for x in lines if _takes(x, line.name, number)]
            is_sliced = kind == "all-reduce" and all(_only_sliced(x, lines, parts) for x in made)
            yield Collective(kind, line.name, size, group, times, layer, is_sliced)  # type: ignore[arg-type]


def _takes(line: _Line, of: str, number: int) -> bool:
    is_part = line.kind == "get-tuple-element" and line.operands == (of,)
    return is_part and f"index={number}," in line.rest + ","


def _only_sliced(name: str, lines: list[_Line], parts: dict[str, list[_Line]]) -> bool:
    """Whether each device takes but its part of an array."""
    users = [line for line in lines if name in line.operands]

    def is_slice(user: _Line) -> bool:
        if user.kind == "fusion":
            inner = parts[_CALLED.findall(user.rest)[0].strip("%")]
            at = [i for i, one in enumerate(user.operands) if one == name]
            held = [
                x.name for x in inner if x.kind == "parameter" and int(x.rest.split(",")[0]) in at
            ]
            return all(_only_sliced(x, inner, parts) for x in held)
        if user.kind in _SAME or user.kind.endswith("-done"):
            return _only_sliced(user.name, lines, parts)
        return user.kind == "dynamic-slice" and user.operands[0] == name

    return bool(users) and all(map(is_slice, users))


def _bytes(result: str) -> int:
    return sum(
        math.prod(map(int, filter(None, dims.split(",")))) * _width(kind)
        for kind, dims in _SHAPE.findall(result)
    )


def _width(kind: str) -> int:
    return 1 if kind == "pred" else max(1, int(re.sub(r"\D*(\d+).*", r"\1", kind)) // 8)


def _group(rest: str, devices: int) -> int:
    """Devices that exchange an array; XLA writes groups in three ways."""
    if found := re.search(r"replica_groups=mesh\[(.*?)\] \{(.*?)\}", rest):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", found[1]))
        return math.prod(int(sizes[axis]) for axis in re.findall(r"'(\w+)'", found[2]))
    if found := re.search(r"replica_groups=\[\d+,(\d+)\]", rest):
        return int(found[1])
    found = re.search(r"replica_groups=\{\{([\d,]+)\}", rest)
    return len(found[1].split(",")) if found else devices
