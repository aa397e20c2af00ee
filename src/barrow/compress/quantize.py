"""A model's parameters to smaller ones that stand in for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.compress.observe import Moments, Rows, observed
from barrow.compress.rounding import Floats, Integers, in_groups
from barrow.compress.scheme import Scheme
from barrow.models.quantized import is_quantized_tree
from barrow.nn.weights.grouped import Grouped, packed
from barrow.nn.weights.kernels import weights_in, with_weights
from barrow.nn.weights.per_channel import PerChannel

_LARGEST_FLOAT8 = 448.0
# SmoothQuant's factors stay within these: an input that was never seen may come.
_FACTORS = (1e-3, 1e3)


def quantized(
    model: Any,
    params: Mapping[str, Any],
    scheme: Scheme | Mapping[str, Scheme | None],
    rows: Rows | None = None,
) -> Any:
    """Parameters with quantized kernels and tables; layers are a tuple (`nn.take_apart`).

    `scheme` is one for all, or one for each path, where None leaves the weight as it is. `rows`
    [rows, length] of tokens are what scales are calibrated on.
    """
    if is_quantized_tree(params):
        raise ValueError("the model is quantized already; start from the model before that")
    schemes = scheme if isinstance(scheme, Mapping) else dict.fromkeys(weights_of(params), scheme)
    found = {path: one for path, one in weights_in(params).items() if schemes.get(path) is not None}
    made: dict[str, Any] = {
        path: _table(leaf, schemes[path]) for path, (leaf, num) in found.items() if num is None
    }
    rest = {path: one for path, one in found.items() if path not in made}
    used = [one for path in rest if (one := schemes[path]) is not None]
    seen: Iterable[Mapping[str, Moments | None]] = [dict.fromkeys(rest)]
    if any(one.needs_calibration for one in used):
        if rows is None:
            raise ValueError(
                "calibration needs text: pass rows, or a scheme with the method nearest"
            )
        products = any(one.method == "gptq" for one in used)
        seen = observed(model, params, rows, products=products)
    for part in seen:
        for path in part.keys() & rest.keys():
            leaf, num_in = rest[path]
            made[path] = _kernel(leaf, num_in, schemes[path], part[path])
    return with_weights(params, lambda path, leaf, _: made.get(path, leaf))


def weights_of(params: Mapping[str, Any]) -> dict[str, int]:
    """Kernels and tables by path, and how many numbers each has."""
    return {path: leaf.size for path, (leaf, _) in weights_in(params).items()}


def _table(leaf: Any, scheme: Scheme | None) -> PerChannel:
    assert scheme is not None
    matrix = np.asarray(leaf, np.float32).T
    values, scales = _by_channel(matrix, scheme, None)
    kind = jnp.dtype(leaf.dtype).name
    return PerChannel(
        jnp.asarray(values.T), jnp.asarray(scales), None, kind, dynamic=scheme.dynamic
    )


def _kernel(leaf: Any, num_in: int | None, scheme: Scheme | None, moments: Moments | None) -> Any:
    assert scheme is not None
    assert num_in is not None
    inputs, outputs = leaf.shape[:num_in], leaf.shape[num_in:]
    matrix = np.asarray(leaf, np.float32).reshape(math.prod(inputs), math.prod(outputs))
    kind = jnp.dtype(leaf.dtype).name
    if scheme.bits == "int4":
        # A group past the inputs would be filled up with zeros that are stored.
        size = min(scheme.group, len(matrix) + len(matrix) % 2)
        integers, scales = _grouped(matrix, 4, size, scheme, moments)
        return Grouped(
            jnp.asarray(packed(integers)),
            jnp.asarray(scales, jnp.float16),
            inputs,
            outputs,
            4,
            kind,
        )
    factors = None
    if scheme.smooth is not None:
        assert moments is not None
        factors = _smoothing(matrix, moments, scheme.smooth)
        matrix = matrix * factors[:, None]
        moments = moments.divided(factors)
    values, scales = _by_channel(matrix, scheme, moments)
    return PerChannel(
        jnp.asarray(values.reshape(leaf.shape)),
        jnp.asarray(scales.reshape(outputs)),
        num_in,
        kind,
        None if factors is None else jnp.asarray(factors.reshape(inputs)),
        scheme.dynamic,
    )


def _by_channel(matrix: Floats, scheme: Scheme, moments: Moments | None) -> tuple[Any, Floats]:
    if scheme.bits == "fp8":
        scales = np.maximum(np.abs(matrix).max(axis=0), 1e-30) / _LARGEST_FLOAT8
        return (matrix / scales).astype(jnp.float8_e4m3fn), scales.astype(np.float32)
    integers, scales = _grouped(matrix, 8, len(matrix), scheme, moments)
    return integers[0], scales[0]


def _grouped(
    matrix: Floats, bits: int, size: int, scheme: Scheme, moments: Moments | None
) -> tuple[Integers, Floats]:
    if moments is None:
        return in_groups(matrix, bits, size, scheme.method)
    hessian = moments.products if scheme.method == "gptq" else None
    by = moments.squares
    return in_groups(matrix, bits, size, scheme.method, importance=by, hessian=hessian)


def _smoothing(matrix: Floats, moments: Moments, alpha: float) -> npt.NDArray[np.float32]:
    """A factor for each input: of activations^α / weights^(1 − α)."""
    weights = np.maximum(np.abs(matrix).max(axis=1), 1e-8)
    largest = np.maximum(moments.largest, 1e-8)
    factors: npt.NDArray[np.float32] = largest**alpha / weights ** (1 - alpha)
    return np.clip(factors, *_FACTORS).astype(np.float32)
