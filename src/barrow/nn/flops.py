"""Floating-point operations of a function, counted in its jaxpr.

Counted are matrix products and convolutions: 2·M·N·K each, one multiplication and one addition for
each term, places in the padding included (as PyTorch's counter and DeepSpeed's profiler do).
Element-wise operations, sums, softmax, norms and look-ups are not: in a transformer they are below
1%, and there is no agreed count for an exponential.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from barrow.nn.abstract import jaxpr_of

# They multiply, but their equations do not show how much.
OPAQUE = (
    *("cholesky", "eigh", "fft", "householder_product", "lu", "qr", "svd"),
    *("pallas_call", "pure_callback", "ragged_dot", "triangular_solve"),
)


@dataclass(frozen=True)
class Flops:
    """Operations of one call.

    `by_path` has those of each path of module names, without paths below it. `unknown` lists where
    the count is inexact, and why.
    """

    total: int
    by_path: Mapping[str, int]
    unknown: tuple[str, ...]

    def below(self, path: str) -> int:
        """Operations at a path and all below it."""
        if not path:
            return self.total
        return sum(n for p, n in self.by_path.items() if p == path or p.startswith(f"{path}/"))


def flops(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Flops:
    """Operations of ``function(*args)``, for arrays or their shapes; nothing is computed.

    A scan's body counts as often as it runs, recomputation for a gradient counts again, and of the
    branches of a `cond` the costliest counts. The iterations of a `while` are not known: one is
    counted, and listed in `unknown`.
    """
    return flops_of(jaxpr_of(function, *args, **kwargs).jaxpr)


def flops_of(jaxpr: Any) -> Flops:
    """As `flops`, of the equations of a function."""
    counts: Counter[str] = Counter()
    unknown: dict[str, None] = {}
    for path, count, doubt in _counted(jaxpr, ()):
        if count:
            counts[path] += count
        if doubt:
            unknown[f"{path or 'function'}: {doubt}"] = None
    return Flops(sum(counts.values()), dict(counts), tuple(unknown))


def _counted(jaxpr: Any, above: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
    """Paths, operations and doubts of the equations, and of those inside them."""
    for equation in jaxpr.eqns:
        path, kind = _path(above, equation), equation.primitive.name
        here = "/".join(path)
        if kind == "dot_general":
            yield here, _dot(equation), ""
        elif kind == "conv_general_dilated":
            yield here, _conv(equation), ""
        elif kind == "cond":
            branches = [list(_counted(b.jaxpr, path)) for b in equation.params["branches"]]
            yield from max(branches, key=lambda branch: sum(count for _, count, _ in branch))
        elif kind.startswith("dot_product_attention"):
            yield here, _attention(equation), ""
        elif kind.startswith(OPAQUE):
            yield here, 0, f"{kind} is not counted"
        else:
            inside = [found for part in inner_jaxprs(equation) for found in _counted(part, path)]
            times, doubt = _times(equation)
            if doubt and any(count for _, count, _ in inside):
                yield here, 0, doubt
            for below, count, why in inside:
                yield below, count * times, why


def _path(above: tuple[str, ...], equation: Any) -> tuple[str, ...]:
    # Transformations (jvp, vmap, transpose) are in the stack too; a gradient is of the same module.
    stack = equation.source_info.name_stack.stack
    scopes = (entry.name for entry in stack if type(entry).__name__ == "Scope")
    names = tuple(name for name in scopes if name != "rematted_computation")
    # The gradient of what was checkpointed carries its whole path again.
    path = (*above, *names)
    for num in range(len(path) // 2, 0, -1):
        if path[:num] == path[num : 2 * num]:
            return path[num:]
    return path


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The programs inside an equation: of a call, a loop or a branch."""
    for value in equation.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            part = getattr(part, "jaxpr", part)
            if hasattr(part, "eqns"):
                yield part


def _times(equation: Any) -> tuple[int, str]:
    kind = equation.primitive.name
    if kind == "scan":
        return int(equation.params["length"]), ""
    if kind == "shard_map":
        # Its equations are those of one device.
        sizes, params = equation.params["mesh"].shape, equation.params
        manual = params["newly_manual_axes" if "newly_manual_axes" in params else "manual_axes"]
        return math.prod(sizes[name] for name in manual), ""
    return 1, "one iteration of a while loop is counted; their number is unknown" * (
        kind == "while"
    )


def _dot(equation: Any) -> int:
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    out = equation.outvars[0].aval.shape
    return int(2 * math.prod(out) * math.prod(left[dim] for dim in contracted))


def _attention(equation: Any) -> int:
    """The kernel of cuDNN: two products forward; five backward, as it computes the first again."""
    q, k = (one.aval.shape for one in equation.invars[:2])
    layout = equation.params["layout"]
    num_keys = k[2 if getattr(layout, "value", layout) else 1]  # [batch, heads, keys], or [b, k, h]
    times = 10 if "_bwd" in equation.primitive.name else 4
    return int(times * math.prod(q) * num_keys)


def _conv(equation: Any) -> int:
    numbers = equation.params["dimension_numbers"]
    kernel = equation.invars[1].aval.shape
    window = [kernel[dim] for dim in numbers.rhs_spec[1:]]  # channels / groups, and space
    out = equation.outvars[0].aval.shape
    return int(2 * math.prod(out) * math.prod(window) // equation.params["batch_group_count"])
