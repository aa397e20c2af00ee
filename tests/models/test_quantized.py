"""Quantized leaves from the arrays of a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.align.model import kept, numbered
from barrow.checkpoint.leaves import leaves
from barrow.compress import Scheme, quantized
from barrow.errors import WeightsError
from barrow.models import DecoderConfig
from barrow.models.quantized import FORMAT, from_arrays, quantized_architecture
from barrow.models.sources import Source
from barrow.nn import take_apart
from barrow.nn.module import describe
from barrow.nn.tree import from_paths
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import with_weights
from barrow.weights.tensors import Tensors

CONFIG = DecoderConfig(vocab_size=20, width=32, layers=1, heads=2, hidden=24, context=8)


def one_group(_: str, leaf: Any, num_in: int | None) -> Any:
    """A single group of 8 bits, whose values have almost the shape of the kernel."""
    if num_in is None:
        return leaf
    inputs, outputs = leaf.shape[:num_in], leaf.shape[num_in:]
    size, num = int(np.prod(inputs)), int(np.prod(outputs))
    return Grouped(jnp.ones((1, size, num), jnp.int8), jnp.ones((1, num)), inputs, outputs, 8)


def in_heads(_: str, leaf: Any, num_in: int | None) -> Any:
    """Groups of 8 bits as long as a head, as GGUF's Q8_0: of `out`, in the kernel's own shape."""
    if num_in is None:
        return leaf
    inputs, outputs = leaf.shape[:num_in], leaf.shape[num_in:]
    shape = int(np.prod(inputs)) // 16 or 1, 16, int(np.prod(outputs))
    return Grouped(jnp.ones(shape, jnp.int8), jnp.ones(shape[::2]), inputs, outputs, 8)


@pytest.mark.parametrize("is_stacked", [True, False])
@pytest.mark.parametrize("kind", ["int4", "int8", "smooth", "fp8", "one group", "heads"])
def test_arrays_tell_what_they_are(kind: Any, is_stacked: bool) -> None:
    model = CONFIG.module(unroll=True)
    shapes = jax.eval_shape(model.init, jax.random.key(0), *CONFIG.example)
    params: Any = take_apart(jax.tree.map(lambda x: np.ones(x.shape, x.dtype), shapes), "layers")
    if kind in ("one group", "heads"):
        params = with_weights(params, one_group if kind == "one group" else in_heads)
    elif kind == "smooth":
        scheme = Scheme("int8", "nearest", dynamic=True, smooth=0.5)
        params = quantized(model, jax.tree.map(jnp.asarray, params), scheme, np.zeros((1, 4), int))
    else:
        params = quantized(model, params, Scheme(kind, "nearest", 8))
    params = kept(params, "float32")
    if is_stacked:
        (layer,) = params["layers"]
        params = params | {"layers": jax.tree.map(lambda x: x[None], layer)}
    stored = numbered(from_paths(leaves(params)))
    found = from_arrays(stored, describe(model, *CONFIG.example))
    assert jax.tree.structure(found) == jax.tree.structure(params)
    jax.tree.map(np.testing.assert_array_equal, found, params)


def test_more_layers_than_tensors() -> None:
    tensors = Tensors({}, metadata={"format": FORMAT})
    source = Source(Path("x"), {"model_type": "gpt2", "n_layer": 10**9}, tensors, None)
    with pytest.raises(WeightsError, match="x: 1,000,000,000 layers in config.json, but 0 tensors"):
        quantized_architecture(source)
