"""Decoding one sequence with a Llama of 1.3 billion parameters on a GPU: bf16, int8, int4.

Run: python benchmarks/bench_compress_gpu.py [--layers 24] [--tokens 128] [--batches 1 8]
Random weights. Tokens a second, and the ratio to bf16. Needs jax and numpy only.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.decoder.generate import generate
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.decoder.one_token import for_one_token
from barrow.nn.attention.rotary import Rotary
from barrow.nn.tree import Tree
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import with_int8, with_weights
from barrow.nn.weights.per_channel import PerChannel

GROUP = 64


def main() -> None:
    """Measure, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--layers", type=int, default=24)
    arguments.add_argument("--width", type=int, default=2048)
    arguments.add_argument("--tokens", type=int, default=128)
    arguments.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    given = arguments.parse_args()
    model = llama(given.width, given.layers)
    params = drawn(model)
    num = sum(x.size for x in jax.tree.leaves(params))
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}: {num:,} parameters")
    four = with_weights(params, grouped)
    kinds: dict[str, Any] = {"bf16": params, "int8": with_int8(params), "int4": four}
    for batch in given.batches:
        plain = None
        for name, held in kinds.items():
            speed = measured(model, held, batch, given.tokens)
            plain = plain or speed
            size = sum(x.nbytes for x in jax.tree.leaves(held))
            print(
                f"batch {batch} {name:5} {speed:8.0f} tokens/s {speed / plain:5.2f}× "
                f"{size / 1e9:5.2f} GB {speed / batch * size / 1e9:6.0f} GB/s",
                flush=True,
            )


def llama(width: int, layers: int) -> Decoder:
    """Its layers are not scanned."""
    config = DecoderConfig(
        vocab_size=32_000,
        width=width,
        layers=layers,
        heads=16,
        hidden=width * 8 // 3 // 128 * 128,
        context=1024,
        norm="rms",
        activation="silu",
        gated=True,
        rotary=Rotary(),
        attention_bias=False,
        out_bias=False,
        mlp_bias=False,
        tied=False,
    )
    return Decoder(config, unroll=True, dtype="bfloat16")


def drawn(model: Decoder) -> Tree:
    """Random parameters in bfloat16, layers as a tuple."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *model.config.example)
    keys = iter(jax.random.split(jax.random.key(1), 4096))

    def draw(shape: Any) -> jax.Array:
        return (0.02 * jax.random.normal(next(keys), shape.shape)).astype(jnp.bfloat16)

    layer = jax.tree.map(lambda s: jax.ShapeDtypeStruct(s.shape[1:], s.dtype), shapes["layers"])
    layers = tuple(jax.tree.map(draw, layer) for _ in range(model.config.layers))
    outer = {n: jax.tree.map(draw, tree) for n, tree in shapes.items() if n != "layers"}
    return Tree({**outer, "layers": layers})


@jax.jit
def in_fours(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Round to nearest, in groups of inputs, two numbers in a byte."""
    groups = matrix.astype(jnp.float32).reshape(-1, GROUP, matrix.shape[1])
    scales = jnp.abs(groups).max(axis=1) / 7
    numbers = (jnp.round(groups / scales[:, None]) + 8).astype(jnp.uint8)
    low, high = jnp.split(numbers, 2, axis=1)
    return low | high << 4, scales.astype(jnp.float16)


def grouped(path: str, leaf: jax.Array, num_in: int | None) -> Any:
    """A kernel in 4 bits; a table in 8."""
    del path
    if num_in is None:
        return PerChannel.rounded(leaf, num_in=None)
    inputs, outputs = leaf.shape[:num_in], leaf.shape[num_in:]
    size = 1
    for side in inputs:
        size *= side
    values, scales = in_fours(leaf.reshape(size, -1))
    return Grouped(values, scales, inputs, outputs, 4, "bfloat16")


def measured(model: Decoder, params: Any, batch: int, tokens: int) -> float:
    """Tokens a second of generating, the best of five."""
    prompts = [[1, 2, 3, 4]] * batch
    params = for_one_token(model, params, batch)
    best = 0.0
    for number in range(6):
        began = time.perf_counter()
        generate(model, params, prompts, max_tokens=tokens)
        took = time.perf_counter() - began
        best = max(best, batch * tokens / took) if number else best
    return best


if __name__ == "__main__":
    main()
