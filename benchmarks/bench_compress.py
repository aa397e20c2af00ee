"""Compressed encoders on a CPU: barrow and transformers in float32 beside ONNX Runtime's int8.

Run: python benchmarks/bench_compress.py [--layers 6] [--seconds 3]
A distilroberta-shaped encoder with random weights (82 million parameters); hidden states of one row
of 64 tokens and of 16 rows of 128. Times are the least of several, all systems in turn.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.compress.card import hardware
from barrow.compress.export.onnx import export_onnx, onnx_bytes
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded
from barrow.models.onnx.model import open_onnx
from barrow.models.roberta.encode import for_inference
from barrow.models.roberta.model import DISTIL, Roberta
from barrow.models.save import save
from barrow.nn import take_apart

SHAPES = ((1, 64), (16, 128))


def main() -> None:
    """Measure, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--layers", type=int, default=DISTIL.layers)
    arguments.add_argument("--seconds", type=float, default=3.0)
    given = arguments.parse_args()
    config = replace(DISTIL, layers=given.layers)
    model = Roberta(config)
    params = drawn(model)
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), model, params, given.seconds)


def drawn(model: Roberta) -> Any:
    """Random parameters in float32, of the sizes of a trained model's."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *model.config.example)
    rng = np.random.default_rng(0)

    def draw(shape: Any) -> jax.Array:
        return jnp.asarray(0.04 * rng.standard_normal(shape.shape, np.float32))

    made: Any = jax.tree.map(draw, shapes)
    return made


def run(folder: Path, model: Roberta, params: Any, seconds: float) -> None:
    """All systems on the same weights."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    save(folder / "float", model, params)
    apart = take_apart(params, "layers")
    unrolled = for_inference(replace(model, unroll=True), apart)
    theirs = transformers.RobertaModel.from_pretrained(
        folder / "float", add_pooling_layer=False
    ).eval()
    export_onnx(folder / "float", folder / "float.onnx")
    small = quantized(unrolled, apart, Scheme("int8", "nearest"))
    (folder / "int8.onnx").write_bytes(onnx_bytes(Loaded(unrolled, small, KeysReport())))
    dynamic = quantized(unrolled, apart, Scheme("int8", "nearest", dynamic=True))
    graphs: dict[str, Any] = {
        name: open_onnx(folder / f"{name}.onnx").model for name in ("float", "int8")
    }
    jitted = jax.jit(lambda params, ids: unrolled.apply(params, ids))
    sizes = {
        "float32": sum(f.stat().st_size for f in (folder / "float").glob("*.safetensors")),
        "int8": (folder / "int8.onnx").stat().st_size,
    }
    print(f"{hardware()}; jax {jax.__version__}, torch {torch.__version__}, ", end="")
    print(f"transformers {transformers.__version__}, Python {platform.python_version()}, ", end="")
    print(f"{os.cpu_count()} threads, {model.config.layers} layers")
    ratio = sizes["int8"] / sizes["float32"]
    print(f"bytes: {sizes['float32']:,} float32, {sizes['int8']:,} int8 ({ratio:.3f}×)")
    for rows, length in SHAPES:
        ids = np.random.default_rng(1).integers(5, 50_000, (rows, length)).astype(np.int32)
        tokens, given = torch.from_numpy(ids.astype(np.int64)), jnp.asarray(ids)

        def in_torch(tokens: Any = tokens) -> Any:
            with torch.inference_mode():
                return theirs(tokens).last_hidden_state.numpy()

        systems: dict[str, Callable[[], Any]] = {
            "barrow float32": lambda ids=given: np.asarray(jitted(apart, ids)),
            "barrow int8 in XLA": lambda ids=given: np.asarray(jitted(dynamic, ids)),
            "transformers float32": in_torch,
            "ONNX float32": lambda ids=ids: graphs["float"].hidden(ids),
            "ONNX int8": lambda ids=ids: graphs["int8"].hidden(ids),
        }
        outputs = {name: run() for name, run in systems.items()}
        least = times(systems, seconds)
        print(f"\n{rows}×{length}: milliseconds, speed beside barrow and transformers, error")
        plain = outputs["barrow float32"]
        for name, took in least.items():
            beside = [least[other] / took for other in ("barrow float32", "transformers float32")]
            error = np.abs(outputs[name] - plain).max() / np.abs(plain).max()
            print(f"{name:22} {1e3 * took:8.2f} {beside[0]:6.2f}× {beside[1]:6.2f}× {error:9.1e}")


def times(systems: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The least time of each, in turn, so that all see the same disturbances."""
    least = dict.fromkeys(systems, float("inf"))
    until = time.perf_counter() + seconds * len(systems)
    while time.perf_counter() < until:
        for name, one in systems.items():
            began = time.perf_counter()
            one()
            least[name] = min(least[name], time.perf_counter() - began)
    return least


if __name__ == "__main__":
    main()
