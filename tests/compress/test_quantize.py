from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.compress.quantize import quantized, weights_of
from barrow.compress.scheme import Scheme, default_scheme
from barrow.models.quantized import num_elements
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import is_weight
from barrow.nn.weights.per_channel import PerChannel

ROWS = np.random.default_rng(1).integers(0, 256, (8, 32)).astype(np.int32)


def logits(model: Any, params: Any) -> np.ndarray:
    run = jax.jit(lambda params: model.apply(params, jnp.asarray(ROWS[:2]))[0])
    return np.asarray(run(params), np.float64)


def lost(model: Any, params: Any, small: Any) -> float:
    """Of the logits, beside their own size."""
    before, after = logits(model, params), logits(model, small)
    return float(np.square(before - after).mean() / before.var())


def test_every_type_is_near_the_original(decoder: Any) -> None:
    model, params = decoder
    bounds = {"int8": 1e-3, "fp8": 2e-2, "int4": 0.1}
    for bits, bound in bounds.items():
        scheme = replace(default_scheme(bits), group=8)  # type: ignore[arg-type]
        small = quantized(model, params, scheme, ROWS)
        assert 0 < lost(model, params, small) < bound, bits
        assert num_elements(small) == num_elements(params)
        leaves = jax.tree.leaves(small, is_leaf=is_weight)
        assert sum(map(is_weight, leaves)) == len(weights_of(params)) == 1 + 2 * 6


def test_gptq_is_nearer_than_the_nearest(decoder: Any) -> None:
    model, params = decoder
    found = {
        method: lost(model, params, quantized(model, params, Scheme("int4", method, 8), ROWS))  # type: ignore[arg-type]
        for method in ("nearest", "gptq")
    }
    assert found["gptq"] < 0.8 * found["nearest"]


def test_smoothing_saves_activations_with_large_channels(decoder: Any) -> None:
    """A norm with two large outputs, as trained models have: the rest would be rounded to 0."""
    model, params = decoder
    first, *rest = params["layers"]
    norm = first["attention_norm"] | {"scale": first["attention_norm"]["scale"].at[:2].mul(200)}
    params = params | {"layers": (first | {"attention_norm": norm}, *rest)}
    plain = lost(model, params, quantized(model, params, Scheme("int8", dynamic=True), ROWS))
    smooth = Scheme("int8", dynamic=True, smooth=0.5)
    assert lost(model, params, quantized(model, params, smooth, ROWS)) < 0.5 * plain


def test_a_scheme_for_each_weight(decoder: Any) -> None:
    model, params = decoder
    paths = weights_of(params)
    assert len(paths) == 1 + 2 * 6
    schemes: dict[str, Scheme | None] = dict.fromkeys(paths)
    schemes["layers/1/mlp/up/kernel"] = Scheme("int4", "nearest", 8)
    schemes["embed/table"] = Scheme("int8", "nearest")
    small = quantized(model, params, schemes)
    assert isinstance(small["layers"][1]["mlp"]["up"]["kernel"], Grouped)
    assert isinstance(small["embed"]["table"], PerChannel)
    assert sum(map(is_weight, jax.tree.leaves(small, is_leaf=is_weight))) == 2


def test_bad_schemes_and_a_quantized_model_are_refused(decoder: Any) -> None:
    model, params = decoder
    small = quantized(model, params, Scheme("int8", "nearest"))
    with pytest.raises(ValueError, match="quantized already"):
        quantized(model, small, Scheme("int8", "nearest"))
    with pytest.raises(ValueError, match="calibration needs text"):
        quantized(model, params, Scheme("int8"))
    for bad, why in {
        "bits must be one of int8, int4, fp8, got 'int2'": {"bits": "int2"},
        "method must be one of": {"bits": "int8", "method": "best"},
        "group must be an even number ≥ 2, got 7; pass group=64": {"bits": "int4", "group": 7},
        "dynamic activations need int8 weights, got int4": {"bits": "int4", "dynamic": True},
        "smooth must be from 0 to 1, with dynamic activations, got 0.5": {
            "bits": "int8",
            "smooth": 0.5,
        },
    }.items():
        with pytest.raises(ValueError, match=re.escape(bad)):
            Scheme(**why)  # type: ignore[arg-type]
