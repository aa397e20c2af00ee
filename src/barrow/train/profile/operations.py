"""Which operations take the time, and which module each is of.

The compiled program records for each operation the named scopes in which it was traced.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from barrow.train.profile.trace import Operation

NAMED = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = ")
_OPERAND = re.compile(r" (?:copy|copy-start|copy-done|bitcast|transpose)\(%?([\w.\-]+)")
_SCOPES = re.compile(r'op_name="([^"]*)"')
CALLS = re.compile(r"calls=%?([\w.\-]+)")
COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) [^=]*\{$")
_WRAPPED = re.compile(r"(\w+)\((.*)\)$")
# Parts of a path that are of JAX: loops, calls, recomputation.
_OF_JAX = {"while", "body", "cond", "closed_call", "checkpoint", "rematted_computation"}
_OF_JAX |= {"custom_jvp_call", "custom_vjp_call", "shard_map", "pjit", "remat", "branch_1_fun"}
_OF_JAX |= {"eval_jaxpr"}


@dataclass(frozen=True)
class Origin:
    """A module's path, and the pass: forward, backward or update (all that is outside of both)."""

    module: str
    part: str


def origin_of(op_name: str) -> Origin:
    """``jit(step)/transpose(jvp(layers))/while/body/mlp/dot_general`` is layers/mlp, backward."""
    part = "forward" if "jvp(" in op_name else "update"
    part = "backward" if "transpose(" in op_name else part
    names: list[str] = []
    # What was made of several operations lists them: "…/(a:b)", or "a;b".
    for piece in op_name.split(";")[0].replace("/(", "/ /", 1).split("/ ")[0].split("/")[:-1]:
        while (found := _WRAPPED.match(piece)) is not None:
            if found[1] == "jit":
                piece = ""
                break
            piece = found[2]
        if piece and piece not in _OF_JAX and "->" not in piece and piece not in names[-1:]:
            names.append(piece)
    return Origin("/".join(names) or ("optimizer" if part == "update" else "loss"), part)


def origins(program: str) -> dict[str, Origin]:
    """Origins by operation, of the text of a compiled program.

    A fusion without a record of its own has that of the last operation inside it that has one, and
    a copy that of its operand.
    """
    found: dict[str, str] = {}
    inside: dict[str, str] = {}
    left: list[tuple[str, str]] = []
    current = ""
    for line in program.splitlines():
        if (header := COMPUTATION.match(line)) is not None:
            current = header[1]
            continue
        named = NAMED.match(line)
        if named is None:
            continue
        scopes = _SCOPES.search(line)
        if scopes is not None and "/" in scopes[1]:  # arguments have a name without
            found[named[1]] = inside[current] = scopes[1]
        elif (of := CALLS.search(line) or _OPERAND.search(line)) is not None:
            left.append((named[1], of[1]))
    for name, source in left:
        if (known := inside.get(source) or found.get(source)) is not None:
            found[name] = known
    return {name: origin_of(scopes) for name, scopes in found.items()}


def by_operation(
    operations: Iterable[Operation], known: Mapping[str, Origin], *, steps: int, most: int = 15
) -> list[dict[str, Any]]:
    """The operations that take most, seconds for each step and device."""
    return _grouped(operations, lambda one: (one.name, *_where(one, known)), steps, most)


def by_module(
    operations: Iterable[Operation], known: Mapping[str, Origin], *, steps: int, most: int = 80
) -> list[dict[str, Any]]:
    """The modules and passes that take most."""
    return _grouped(operations, lambda one: ("", *_where(one, known)), steps, most)


def _where(one: Operation, known: Mapping[str, Origin]) -> tuple[str, str]:
    origin = known.get(one.name)
    if one.is_communication:
        return (origin.module if origin else ""), "communication"
    return (origin.module, origin.part) if origin else ("", "not named")


def _grouped(
    operations: Iterable[Operation],
    key: Callable[[Operation], tuple[str, str, str]],
    steps: int,
    most: int,
) -> list[dict[str, Any]]:
    seconds: dict[tuple[str, str, str], float] = defaultdict(float)
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    devices = set()
    for one in operations:
        seconds[key(one)] += one.end - one.start
        counts[key(one)] += 1
        devices.add(one.device)
    whole, times = sum(seconds.values()) or 1.0, steps * max(1, len(devices))
    ranked = sorted(seconds.items(), key=lambda item: -item[1])[:most]
    return [
        {
            **({"name": name} if name else {}),
            "module": module,
            "part": part,
            "seconds": total / times,
            "share": total / whole,
            "times": counts[name, module, part] / times,
        }
        for (name, module, part), total in ranked
    ]
