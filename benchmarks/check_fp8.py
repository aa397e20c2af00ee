"""Where fp8 is faster than bf16, and whether a model learns as well with it.

    python benchmarks/check_fp8.py [widths] [loss] [--steps 500] [--width 2048] [--layers 6]

widths  tokens/s of both for four layers as Llama has them, 8 rows of 2,048, of several widths
loss    both trained on the same bytes: the Python sources that are installed here, 8 rows of 1,024
        a step; the mean loss of the last fifty steps, and of rows that were not trained on
"""

from __future__ import annotations

import argparse
import sysconfig
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.nn.attention.rotary import Rotary
from barrow.nn.cross_entropy import cross_entropy
from barrow.train import AdamW, Loss, Objective, Precision, StepSettings, init_state, make_step
from barrow.train.precision import Name
from barrow.train.schedules import Cosine

BOTH: tuple[Name, Name] = ("bf16", "fp8")


def decoder(width: int, layers: int, vocab: int, context: int) -> Decoder:
    """As Llama has them."""
    config = DecoderConfig(
        vocab_size=vocab,
        width=width,
        layers=layers,
        heads=max(1, width // 128),
        hidden=-(-8 * width // 3 // 128) * 128,
        context=context,
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


def total(model: Decoder, params: Any, rows: jax.Array) -> jax.Array:
    """Nats of all tokens but the first of each row [rows, length + 1]."""
    hidden, _ = model.apply(params, rows[:, :-1], method=model.hidden)
    weight, transposed = Decoder(model.config).head_weight(params)
    ones = jnp.ones(rows[:, 1:].shape, jnp.float32)
    found: jax.Array = cross_entropy(hidden, weight, rows[:, 1:], ones, transposed=transposed)
    return found


def judged(model: Decoder, precision: Precision, params: Any, rows: jax.Array) -> jax.Array:
    """`total` in a precision."""
    return total(model, precision.prepared(precision.cast(params)), rows)


def made(model: Decoder, precision: Name, steps: int) -> tuple[Any, Any, StepSettings]:
    """A state, its step, and the settings."""

    def loss(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
        num = batch["rows"][:, 1:].size
        return Loss(total(model, params, batch["rows"]), jnp.float32(num), {}, collections)

    settings = StepSettings(Precision(precision))
    optimizer = AdamW(schedule=Cosine(peak=3e-4, warmup=50)).make(steps)
    shape = jax.ShapeDtypeStruct((1, 8), jnp.int32)
    state = init_state(lambda k: model.init(k, shape), optimizer, settings, jax.random.key(0))
    return state, make_step(Objective(loss), optimizer, settings), settings


def widths() -> None:
    """A table of both."""
    print("| width | bf16 tokens/s | fp8 | ratio |\n|---:|---:|---:|---:|")
    for width in (768, 1024, 1536, 2048, 3072, 4096):
        speeds = []
        for precision in BOTH:
            model = decoder(width, 4, 8192, 2048)
            state, step, _ = made(model, precision, 100)
            ids = np.random.default_rng(0).integers(0, 8192, (8, 2049)).astype(np.int32)
            batch = jax.device_put({"rows": ids})
            best = float("inf")
            for turn in range(4):
                began = time.perf_counter()
                for _ in range(1 if turn == 0 else 8):
                    state, metrics = step(state, batch)
                jax.block_until_ready((state, metrics))
                best = min(best, (time.perf_counter() - began) / 8) if turn else best
            speeds.append(8 * 2048 / best)
            del state
        print(f"| {width} | {speeds[0]:,.0f} | {speeds[1]:,.0f} | {speeds[1] / speeds[0]:.3f} |")


def text(num: int) -> np.ndarray:
    """So many bytes of the sources installed here, in the order of their names."""
    parts, size = [], 0
    for folder in dict.fromkeys(sysconfig.get_paths()[name] for name in ("stdlib", "purelib")):
        for file in sorted(Path(folder).rglob("*.py")):
            if file.is_file():
                parts.append(file.read_bytes())
                size += len(parts[-1])
            if size >= num:
                break
    found = np.frombuffer(b"".join(parts), np.uint8)
    if len(found) < num:
        raise SystemExit(f"{num:,} bytes of Python sources are needed, found {len(found):,}")
    return found[:num]


def losses(width: int, layers: int, steps: int, precisions: tuple[Name, ...]) -> None:
    """A table of both: the loss while training, and afterwards on other rows."""
    rows, length = 8, 1024
    data = text((steps * rows + 64) * (length + 1)).reshape(-1, length + 1).astype(np.int32)
    data = data[np.random.default_rng(0).permutation(len(data))]
    kept, data = data[:64], data[64:]
    found = []
    print("| | last fifty steps | other rows | tokens/s |\n|---|---:|---:|---:|")
    for precision in precisions:
        model = decoder(width, layers, 256, length)
        state, step, settings = made(model, precision, steps)
        nats, began = [], time.perf_counter()
        for number in range(steps):
            state, metrics = step(state, {"rows": data[number * rows : (number + 1) * rows]})
            nats.append(metrics.loss.value)
            if number == 9:
                jax.block_until_ready(state)
                began = time.perf_counter()
        jax.block_until_ready(state)
        speed = (steps - 10) * rows * length / (time.perf_counter() - began)
        judge = jax.jit(partial(judged, model, settings.precision))
        other = sum(float(judge(state.params, kept[i : i + rows])) for i in range(0, 64, rows))
        found.append((float(np.mean(np.array(nats[-50:]))), other / (64 * length)))
        figures = f"{found[-1][0]:.4f} | {found[-1][1]:.4f} | {speed:,.0f}"
        print(f"| {precision} | {figures} |", flush=True)
        del state
    if len(found) == len(BOTH):
        ratios = [b / a for a, b in zip(*found, strict=True)]
        print(f"fp8 / bf16 after {steps} steps: {ratios[0]:.4f} and {ratios[1]:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="widths, loss; none: both")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--only", choices=BOTH, help="loss: of one of them")
    args = parser.parse_args()
    parts = args.parts or ["widths", "loss"]
    if "widths" in parts:
        widths()
    if "loss" in parts:
        losses(args.width, args.layers, args.steps, (args.only,) if args.only else BOTH)


if __name__ == "__main__":
    main()
