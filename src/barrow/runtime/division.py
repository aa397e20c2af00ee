"""`plan="auto"` for a script: how far the state must be divided for a device to hold a step of it.

The rows of a batch are divided over all devices in any case. Each stage of ZeRO divides more, and
sends more, so the first that fits is the best. What a step needs is predicted as in `barrow.plan`:
arrays by their rules, activations from the equations of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax

from barrow.errors import ConfigError
from barrow.nn.liveness import Peak, peak
from barrow.parallel import num_row_shards
from barrow.parallel.placement import Placement
from barrow.plan.search import GIB
from barrow.runtime import parts
from barrow.runtime.gradient import as_mean, has_rows, num_rows
from barrow.train.precision import Precision
from barrow.train.profile.memory import arrays_of, whole_bytes
from barrow.train.state import TrainState


def first_fit(
    params: Any,
    size: int,
    held: Peak,
    places: Sequence[Placement],
    precision: Precision,
    limit: int,
    *,
    accumulate: int,
) -> int:
    """The first stage of ZeRO, of `places`, with which a device can hold a step.

    `size` are the bytes of the whole state, `held` the values of a micro-batch. An error says what
    is missing.
    """
    whole = sum(x.nbytes for x in jax.tree.leaves(params))
    for zero, placement in enumerate(places):
        alone: Any = TrainState(None, params, None, None, None)  # type: ignore[arg-type]
        arrays = arrays_of(alone, placement, precision)
        # Most of the rest are moments, which are divided as the parameters are.
        rest = (size - whole) * arrays.masters // max(whole, 1)
        found = replace(arrays, optimizer=rest).memory(held, 0, accumulate)
        if found.total <= limit:
            return zero
    kinds = ", ".join(f"{kind} {num / GIB:.2f}" for kind, num in found.by_kind.items())
    raise ConfigError(
        f"no plan fits: with the state divided over {places[-1].mesh.size} devices a step needs "
        f"{found.total / GIB:.2f} GiB of {limit / GIB:.2f} on each ({kinds}); pass smaller "
        f"batches, a larger accumulate, or use more devices"
    )


def values_of(
    loss: Callable[..., Any], model: Any, batch: Any, mesh: Any, accumulate: int, precision: Any
) -> Peak:
    """Bytes of values of the loss and its gradient, for one device's rows of a micro-batch."""
    rows = num_rows(batch)
    if rows is None:
        raise ConfigError("a plan needs a loss that takes its batch: loss(model, batch)")
    few = -(-rows // (num_row_shards(mesh) * accumulate))

    def value(*given: Any) -> Any:
        found = loss(*given)
        return found[0] if isinstance(found, tuple) else found  # without aux

    params, carried, call, _ = parts.opened(model, value, has_aux=False)

    def total(used: Any, batch: Any) -> Any:
        return as_mean(call(used, carried, batch)[0], few).total

    cut: Any = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct((few, *x.shape[1:]), x.dtype) if has_rows(x) else x, batch
    )
    used = jax.eval_shape(precision.cast, params)
    return peak(jax.make_jaxpr(jax.grad(total))(used, cut).jaxpr, whole_bytes)
