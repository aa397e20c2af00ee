"""Attention of encoders as fused nodes, and what graphs of all families share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.compress.export.graph import FUSED, Graph
from barrow.nn.weights.kernels import is_weight
from barrow.nn.weights.per_channel import PerChannel

Params = Mapping[str, Any]
Shape = tuple[str | int, ...]
# Inputs by name with their types, outputs by name with the value computed; and shapes of all.
Ends = tuple[dict[str, tuple[str, Shape]], dict[str, tuple[str, Shape]]]


def attended(
    graph: Graph,
    name: str,
    params: Params,
    x: str,
    heads: int,
    *,
    mask: str = "",
    causal: bool = False,
) -> str:
    """Attention with its projections: one fused node for queries, keys, values and softmax."""
    parts = [params[part] for part in "qkv"]
    weights = [part["kernel"] for part in parts]
    width = weights[0].shape[0]
    bias = np.concatenate([np.asarray(part["bias"], np.float32).reshape(-1) for part in parts])
    kinds = {"num_heads": heads, "unidirectional": int(causal)}
    if any(map(is_weight, weights)):
        y = _quantized_attention(graph, name, weights, bias, x, mask, kinds)
    else:
        joined = np.concatenate([np.asarray(w, np.float32).reshape(width, -1) for w in weights], 1)
        inputs = (x, graph.held(f"{name}.qkv", joined), graph.held(f"{name}.qkv.bias", bias), mask)
        y = graph.node("Attention", *inputs, domain=FUSED, **kinds)
    out = params["out"]
    return graph.product(y, f"{name}.out", out["kernel"], out.get("bias"), num_in=2)


def _quantized_attention(
    graph: Graph,
    name: str,
    weights: list[Any],
    bias: Any,
    x: str,
    mask: str,
    kinds: Mapping[str, int],
) -> str:
    """One product of integers for queries, keys and values, inside the fused node."""
    if all(isinstance(w, PerChannel) and w.inputs is None for w in weights):
        shape = (weights[0].shape[0], -1)
        joined = PerChannel(
            jnp.concatenate([w.values.reshape(shape) for w in weights], axis=1),
            jnp.concatenate([w.scales.reshape(-1) for w in weights]),
            1,
        )
        return graph.integer_attention(f"{name}.qkv", joined, bias, x, mask, kinds)
    # Groups, or factors of inputs: products by themselves, then attention.
    width = bias.size // 3
    parts = [
        graph.product(x, f"{name}.{part}", weight, bias[i * width : (i + 1) * width])
        for i, (part, weight) in enumerate(zip("qkv", weights, strict=True))
    ]
    return str(graph.node("MultiHeadAttention", *parts, "", mask, domain=FUSED, **kinds))
