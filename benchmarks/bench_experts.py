"""Experts and the loop of a pipeline on one device: the same numbers, and the time they take.

    python benchmarks/bench_experts.py [--small]

parity    a layer of experts against every expert computed for every token, in float32: relative to
          the largest number, of the result and of each gradient
time      forward and backward of a layer of experts in bf16, beside a plain MLP of as many
          operations and `jax.lax.ragged_dot`
pipeline  layers through the circular schedule with one stage, beside a plain loop over them
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from barrow import nn
from barrow.nn.layers.experts import Experts
from barrow.parallel.pipeline import Schedule, in_stages


def dense(params: Any, x: jax.Array, top_k: int) -> jax.Array:
    """Every expert for every token, weighted."""
    kernels = [params["experts"][name]["kernel"] for name in ("gate", "up", "down")]
    probabilities = jax.nn.softmax(x @ params["router"]["kernel"])
    weights, chosen = lax.top_k(probabilities, top_k)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    each = jnp.einsum("blkc,blk->blc", jax.nn.one_hot(chosen, probabilities.shape[-1]), weights)
    first, up = (jnp.einsum("ble,ceh->blch", x, kernel) for kernel in kernels[:2])
    return jnp.einsum("blch,che,blc->ble", jax.nn.silu(first) * up, kernels[2], each)


def ragged(params: Any, x: jax.Array, top_k: int) -> jax.Array:
    """By `jax.lax.ragged_dot` of tokens in the order of their experts."""
    gate, up, down = (
        params["experts"][n]["kernel"].astype(x.dtype) for n in ("gate", "up", "down")
    )
    rows = x.reshape(-1, x.shape[-1])
    logits = rows.astype(jnp.float32) @ params["router"]["kernel"]
    weights, chosen = lax.top_k(jax.nn.softmax(logits), top_k)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    order = jnp.argsort(chosen.reshape(-1))
    sizes = jnp.bincount(chosen.reshape(-1), length=gate.shape[0])
    taken = rows[order // top_k]
    y = jax.nn.silu(lax.ragged_dot(taken, gate, sizes)) * lax.ragged_dot(taken, up, sizes)
    y = lax.ragged_dot(y, down, sizes) * weights.reshape(-1)[order][:, None].astype(x.dtype)
    return jnp.zeros_like(rows).at[order // top_k].add(y).reshape(x.shape)


def milliseconds(run: Callable[..., Any], *args: Any) -> float:
    """The median of ten, after three that do not count."""
    compiled, found = jax.jit(run), []
    for _ in range(13):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*args))
        found.append(1e3 * (time.perf_counter() - start))
    return sorted(found[3:])[5]


def apart(ours: Any, theirs: Any) -> float:
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return max(float(jnp.abs(a - b).max() / jnp.abs(b).max()) for a, b in pairs)


def experts(count: int, width: int, hidden: int, rows: tuple[int, int]) -> None:
    layer = Experts(nn.Routing(count, 2), hidden)
    key = jax.random.key(0)
    x = jax.random.normal(key, (*rows, width))
    params = layer.init(key, x)

    def total(apply: Callable[..., jax.Array]) -> Callable[..., Any]:
        return lambda params, x: (apply(params, x).astype(jnp.float32) ** 2).sum()

    small = jax.random.normal(key, (2, 64, width))
    with jax.default_matmul_precision("highest"):
        ours, theirs = (
            jax.jit(jax.value_and_grad(total(apply), (0, 1)))(params, small)
            for apply in (layer.apply, lambda params, x: dense(params, x, 2))
        )
    print(f"{count} experts: {apart(ours, theirs):.1e} from all experts for all tokens", flush=True)
    half = x.astype(jnp.bfloat16)
    plain = [
        jax.random.normal(key, shape, jnp.bfloat16) * width**-0.5
        for shape in ((width, 2 * hidden), (width, 2 * hidden), (2 * hidden, width))
    ]

    def mlp(kernels: Any, x: jax.Array) -> jax.Array:
        return (jax.nn.silu(x @ kernels[0]) * (x @ kernels[1])) @ kernels[2]

    for name, apply, weights in (
        ("experts", layer.apply, params),
        ("ragged_dot", lambda params, x: ragged(params, x, 2), params),
        ("plain MLP", mlp, plain),
    ):
        forward = milliseconds(total(apply), weights, half)
        both = milliseconds(jax.grad(total(apply), (0, 1)), weights, half)
        print(f"    {name:10} forward {forward:8.2f} ms, with backward {both:8.2f} ms", flush=True)


def pipeline(width: int, rows: int) -> None:
    layers = jax.random.normal(jax.random.key(0), (8, width, width)) * width**-0.5
    x = jax.random.normal(jax.random.key(1), (rows, width))
    schedule = Schedule(1, 4, 2)

    def through(layers: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, layers)

    def staged(layers: jax.Array, x: jax.Array) -> jax.Array:
        group = lambda layers, x, shared, number: through(layers, x)  # noqa: E731
        made: jax.Array = in_stages(schedule, group, layers, x, (), lambda x, *names: x)[0]
        return (made**2).sum()

    def plain(layers: jax.Array, x: jax.Array) -> jax.Array:
        return (through(layers, x)[0] ** 2).sum()

    with jax.default_matmul_precision("highest"):
        ours, theirs = (
            jax.jit(jax.value_and_grad(run, (0, 1)))(layers, x) for run in (staged, plain)
        )
    print(f"pipeline of one stage: {apart(ours, theirs):.1e} from a plain loop", flush=True)
    for name, run in (("pipeline", staged), ("plain loop", plain)):
        print(f"    {name:10} {milliseconds(jax.grad(run, (0, 1)), layers, x):8.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="for a CPU")
    small = parser.parse_args().small
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, numpy {np.__version__}")
    for count in (8, 32):
        experts(count, *((64, 96, (2, 64)) if small else (1024, 2816, (8, 1024))))
    pipeline(*((64, 16) if small else (2048, 4096)))


if __name__ == "__main__":
    main()
