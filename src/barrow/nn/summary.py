"""A model as a table: its modules and parameters, their shapes, numbers and operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax

from barrow.nn.flops import Flops, flops
from barrow.nn.module import Module, described
from barrow.nn.trace import ParamSpec, Trace
from barrow.nn.tree import Tree, from_paths

HEAD = ("path", "what", "shape", "type", "parameters", "FLOPs")


def summary(model: Module, *args: Any, **kwargs: Any) -> str:
    """A table of a model for inputs like these (arrays or their shapes). Nothing is allocated.

    A line for each module (kind, shape of its output, parameters and FLOPs of it and all below) and
    for each parameter (axes, shape, type, numbers in it). FLOPs are those of `nn.flops` for one
    forward pass; a second call (tied weights) counts at the module's name. A model with experts
    whose `config` has `num_active` shows how many parameters compute a token.
    """
    trace = described(model, *args, **kwargs)
    counted = _forward_flops(model, trace, *args, **kwargs)
    rows: list[tuple[str, ...]] = []
    for place, kinds in _in_order(trace):
        below = [s for p, s in trace.specs.items() if not place or p.startswith(f"{place}/")]
        rows.append(
            (
                place or "model",
                "(".join(kinds) + ")" * (len(kinds) - 1),
                _shapes(trace.outputs.get(place)),
                "",
                f"{_numbers(below):,}",
                f"{counted.below(place):,}",
            )
        )
        own = (item for item in trace.specs.items() if _owner(item[0], trace) == place)
        rows += [_of_param(path, spec) for path, spec in own]
    total = _numbers(list(trace.specs.values()))
    size = sum(_numbers([spec]) * spec.dtype.itemsize for spec in trace.specs.values())
    active = getattr(getattr(model, "config", None), "num_active", lambda num: num)(total)
    used = "" if active == total else f" ({active:,} for one token)"
    totals = f"{total:,} parameters{used}, {size:,} bytes; {counted.total:,} FLOPs forward"
    lines = [*_aligned([HEAD, *rows]), totals]
    return "\n".join([*lines, *(f"incomplete count: {doubt}" for doubt in counted.unknown)])


def _forward_flops(model: Module, trace: Trace, *args: Any, **kwargs: Any) -> Flops:
    """Operations by path, relative to the model."""
    params = from_paths({p: _array_like(spec) for p, spec in trace.specs.items()})
    initial = {
        name: from_paths({path: jax.eval_shape(first) for path, first in leaves.items()})
        for name, leaves in trace.initial.items()
    }

    def forward(params: Any, collections: Any, *a: Any, **k: Any) -> Any:
        return model.apply(params, *a, collections=collections, **k)

    found = flops(forward, params, Tree(initial), *args, **kwargs)
    by_place: dict[str, int] = {}
    for path, count in found.by_path.items():
        place = _module_of(path.partition("/")[2], trace)
        by_place[place] = by_place.get(place, 0) + count
    return Flops(found.total, by_place, found.unknown)


def _in_order(trace: Trace) -> list[tuple[str, list[str]]]:
    """Modules as they are called, each before those below it."""
    order = {place: number for number, place in enumerate(trace.modules)}

    def rank(place: str) -> tuple[int, ...]:
        names = place.split("/") if place else []
        above = ("/".join(names[:n]) for n in range(len(names) + 1))
        return tuple(order[p] for p in above if p in order)

    return sorted(trace.modules.items(), key=lambda item: rank(item[0]))


def _owner(path: str, trace: Trace) -> str:
    return _module_of(path.rpartition("/")[0], trace)


def _module_of(place: str, trace: Trace) -> str:
    """The nearest module at or above a path: not only modules have names."""
    while place and place not in trace.modules:
        place = place.rpartition("/")[0]
    return place


def _of_param(path: str, spec: ParamSpec) -> tuple[str, ...]:
    names = "· " + ", ".join(str(name or "-") for name in spec.axes)
    return (path, names, str(list(spec.shape)), spec.dtype.name, f"{_numbers([spec]):,}", "")


def _array_like(spec: ParamSpec) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(spec.shape, spec.dtype)


def _numbers(specs: Sequence[ParamSpec]) -> int:
    return sum(math.prod(spec.shape) for spec in specs)


def _shapes(output: Any) -> str:
    leaves = jax.tree.leaves(output, is_leaf=lambda x: isinstance(x, tuple) and _is_shape(x))
    return ", ".join(str(list(shape)) for shape in leaves[:2]) + ", …" * (len(leaves) > 2)


def _is_shape(x: tuple[Any, ...]) -> bool:
    return all(isinstance(size, int) for size in x)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = (str.ljust,) * 4 + (str.rjust,) * 2
    lines = []
    for row in rows:
        cells = zip(row, widths, sides, strict=True)
        lines.append("  ".join(aside(cell, width) for cell, width, aside in cells).rstrip())
    rule = "─" * max(map(len, lines))
    return [lines[0], rule, *lines[1:], rule]
