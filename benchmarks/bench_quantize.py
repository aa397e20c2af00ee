"""What quantized weights cost by domain: barrow's methods beside rounding and GGUF's types.

Run: python benchmarks/bench_quantize.py MODEL CORPUS [--documents 32] [--rows 64] [--only int4]
Bits per byte of each domain after less before, on documents that calibration did not see. Q8_0 and
Q4_0 are those of the library `gguf`, on the same kernels (tables of embeddings as in ours).
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from typing import Any

import gguf
import jax
import jax.numpy as jnp
import numpy as np

from barrow.compress.budget import _scored as scored
from barrow.compress.compressed import Measuring, open_original, texts_for
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme
from barrow.compress.texts import token_rows
from barrow.nn.dot import as_array
from barrow.nn.weights.kernels import is_weight, with_weights
from barrow.score.diff import compare

SCHEMES = {
    "int8 nearest": Scheme("int8", "nearest"),
    "int8 mse": Scheme("int8", "mse"),
    "int8 gptq": Scheme("int8", "gptq"),
    "int8 mse, dynamic": Scheme("int8", "mse", dynamic=True),
    "fp8": Scheme("fp8"),
    "int4 nearest": Scheme("int4", "nearest"),
    "int4 mse": Scheme("int4", "mse"),
    "int4 gptq": Scheme("int4", "gptq"),
}
THEIRS = {"GGUF Q8_0": gguf.GGMLQuantizationType.Q8_0, "GGUF Q4_0": gguf.GGMLQuantizationType.Q4_0}


def main() -> None:
    """Measure, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("model")
    arguments.add_argument("corpus")
    arguments.add_argument("--documents", type=int, default=32)
    arguments.add_argument("--rows", type=int, default=64)
    arguments.add_argument("--only", default="", help="schemes whose names have this")
    given = arguments.parse_args()
    opened = open_original(given.model)
    texts = texts_for(opened.loaded, given.corpus, Measuring(documents=given.documents))
    length = min(512, opened.model.config.context)
    rows = token_rows(texts.calibration, opened.tokenizer, rows=given.rows, length=length)
    before = scored(opened, opened.params, texts)
    num = sum(x.size for x in jax.tree.leaves(opened.params))
    bits = before.overall.bpb
    print(f"{given.model}: {num:,} parameters, {bits:.4f} bits per byte, ", end="")
    print(f"{len(before.domains)} domains, {before.overall.bytes:,} bytes")
    print("  " + ", ".join(f"{row.name} {row.bpb:.3f}" for row in before.domains))
    print(f"{'':20} {'overall':>9} {'worst':>9}  domain")
    table = quantized(opened.model, opened.params, SCHEMES["int8 nearest"])["embed"]["table"]
    for name in (*SCHEMES, *THEIRS):
        if given.only not in name:
            continue
        if name in SCHEMES:
            small = quantized(opened.model, opened.params, SCHEMES[name], rows)
            if not SCHEMES[name].dynamic:
                small = jax.tree.map(as_array, small, is_leaf=is_weight)
        else:
            small = with_weights(opened.params, partial(by_gguf, THEIRS[name], as_array(table)))
        found = compare(scored(opened, small, texts), before, num_worst=0, resamples=1)
        lost = {row.name: row.difference or 0.0 for row in found.domains}
        worst = max(lost, key=lambda domain: lost[domain])
        overall = found.overall.difference
        print(f"{name:20} {overall:+9.4f} {lost[worst]:+9.4f}  {worst}", flush=True)
        print("  " + ", ".join(f"{domain} {bits:+.4f}" for domain, bits in lost.items()))


def by_gguf(kind: Any, table: jax.Array, path: str, leaf: Any, num_in: int | None) -> Any:
    """A kernel as GGUF stores it and gives it back: blocks of 32 inputs of each output."""
    del path
    if num_in is None:
        return table
    inner = math.prod(leaf.shape[:num_in])
    theirs = np.asarray(leaf, np.float32).reshape(inner, -1).T
    padded = np.pad(theirs, ((0, 0), (0, -inner % 32)))
    back = gguf.dequantize(gguf.quantize(padded, kind), kind)[:, :inner]
    return jnp.asarray(back.T.reshape(leaf.shape))


if __name__ == "__main__":
    main()
