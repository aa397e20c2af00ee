"""How many bytes of values a program has at a time, estimated from its equations alone.

A compiler fuses cheap operations into those that use them, so their results never exist. Here a
value exists if a matrix product, a loop or a reduction makes it, or if one of the first two reads
it; another value is computed again where it is used, from values that exist until then, unless
those take more bytes than it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from barrow.nn.flops import inner_jaxprs

# They write their results and read their arguments from memory; so does what contains one of them.
_HEAVY = (
    *("dot_", "conv_", "ragged_dot", "scan", "while", "gather", "scatter", "cumsum"),
    *("cumlogsumexp", "sort", "top_k", "pallas_call", "rng_bit_generator", "fft", "shard_map"),
    *("remat", "checkpoint"),
)
# They write their results, and make what they read.
_REDUCE = ("reduce_", "arg")
# A value is not made again from values of more than so many times its bytes.
_WORTH = 2
# The same bytes under another shape or name.
_ALIAS = ("reshape", "squeeze", "expand_dims", "name", "optimization_barrier")


class Peak(NamedTuple):
    """Bytes at the moment that needs most: `kept` from before it and after it, and `during` it.

    `written` are the bytes of all values that exist at some time.
    """

    kept: float
    during: float
    written: float

    @property
    def total(self) -> float:
        """Both."""
        return self.kept + self.during

    def towards(self, other: Peak, share: float) -> Peak:
        """On the line from this to another, which is where `share` is 1."""
        return Peak(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


def peak(jaxpr: Any, size: Callable[[Any], float], *, is_outer: bool = True) -> Peak:
    """Of the values that a jaxpr makes; with `is_outer`, without its results."""
    if is_outer and len(jaxpr.eqns) == 1 and jaxpr.eqns[0].primitive.name in ("jit", "pjit"):
        return peak(next(inner_jaxprs(jaxpr.eqns[0])), size)
    needed = _needed(jaxpr)
    roots: dict[Any, frozenset[Any]] = {}  # values that must exist for this one
    last: dict[Any, int] = {}
    for index, equation in enumerate(jaxpr.eqns):
        used = frozenset().union(*(roots.get(var, ()) for var in _vars(equation.invars)))
        last |= dict.fromkeys(used, index)
        kind = equation.primitive.name
        for var in equation.outvars:
            is_long = sum(size(one.aval) for one in used) > _WORTH * size(var.aval)
            is_made = kind not in _ALIAS and (var in needed or is_long or _writes(equation))
            roots[var] = frozenset([var]) if is_made else used
    results = frozenset().union(*(roots.get(var, ()) for var in _vars(jaxpr.outvars)))
    last |= dict.fromkeys(results, len(jaxpr.eqns))
    bytes_of = {
        var: 0.0 if is_outer and var in results else size(var.aval)
        for own in roots.values()
        for var in own
    }
    ends: dict[int, list[Any]] = {}
    for var, index in last.items():
        ends.setdefault(index, []).append(var)
    live = written = 0.0
    best = Peak(0.0, 0.0, 0.0)
    for index, equation in enumerate(jaxpr.eqns):
        made = sum(bytes_of[var] for var in equation.outvars if roots[var] == {var})
        freed = sum(bytes_of[var] for var in ends.get(index, ()))
        inside = [peak(part, size, is_outer=False) for part in inner_jaxprs(equation)]
        most = max(inside, key=lambda one: one.total, default=Peak(0.0, 0.0, 0.0))
        kind = equation.primitive.name
        times = equation.params["length"] if kind == "scan" else 1
        written += made + times * sum(one.written for one in inside)
        now = made + most.total if kind in ("scan", "while") else max(made, most.total)
        if live + now > best.total:
            stays = made if kind == "scan" else 0.0  # stacked, for the backward pass
            best = Peak(live + stays, now - stays, 0.0)
        live += made - freed
    return Peak(best.kept, best.during, written)


def _needed(jaxpr: Any) -> set[Any]:
    """Values that an equation, or the caller, reads from memory."""
    needed = set(_vars(jaxpr.outvars))
    for equation in reversed(jaxpr.eqns):
        kind = equation.primitive.name
        if kind in _ALIAS:
            is_read = not needed.isdisjoint(equation.outvars)
        else:
            is_read = _writes(equation) and not kind.startswith(_REDUCE)
        if is_read:
            needed.update(_vars(equation.invars))
    return needed


def _writes(equation: Any) -> bool:
    inside = (one for part in inner_jaxprs(equation) for one in part.eqns)
    return equation.primitive.name.startswith(_HEAVY + _REDUCE) or any(map(_writes, inside))


def _vars(atoms: Any) -> list[Any]:
    return [atom for atom in atoms if not hasattr(atom, "val")]
