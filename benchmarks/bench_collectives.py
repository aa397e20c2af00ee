"""What a training step sends between eight devices, by axis and ZeRO stage, from its program.

    python benchmarks/bench_collectives.py [--gpu] [--width 512] [--time]

Programs are compiled for eight virtual CPU devices or, with --gpu, for eight GPUs of which only one
has to exist. Bytes are those that one device sends in a step, in units of the bytes of all
parameters, for messages that go around a ring. Nothing is run, but with --time: the median of five
steps on the virtual devices.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from typing import Any

MESHES: tuple[tuple[str, int, dict[str, int]], ...] = (
    ("data=8", 0, {"data": 8}),
    ("fsdp=8 zero=1", 1, {"fsdp": 8}),
    ("fsdp=8 zero=2", 2, {"fsdp": 8}),
    ("fsdp=8 zero=3", 3, {"fsdp": 8}),
    ("tensor=8", 0, {"tensor": 8}),
    ("sequence=8", 0, {"sequence": 8}),
    ("stage=4 data=2", 0, {"stage": 4, "data": 2}),
    ("expert=8", 0, {"expert": 8}),
)


def compiled(
    args: argparse.Namespace, level: int, sizes: dict[str, int]
) -> tuple[str, int, float | None]:
    """A step's program as text, the bytes of its parameters in the computation, and its time."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from barrow import nn
    from barrow.models.decoder.model import Decoder, DecoderConfig
    from barrow.parallel import ZERO, constrainer, make_mesh
    from barrow.parallel.placement import Placement
    from barrow.train.objectives.causal import causal_objective
    from barrow.train.optimizers import AdamW
    from barrow.train.precision import Precision
    from barrow.train.step import StepSettings, init_state, make_step

    config = DecoderConfig(
        vocab_size=8192,
        width=args.width,
        layers=4,
        heads=8,
        hidden=4 * args.width,
        context=args.length,
        tied=args.tied,
        mlp_bias="expert" not in sizes,
        experts=nn.Routing(8, 2, capacity=1.25) if "expert" in sizes else None,
    )
    settings = StepSettings(Precision(args.precision))
    model = Decoder(config, dtype=settings.precision.dtype.dtype.name)
    zero, mesh = ZERO[level], make_mesh(**{"data": 1, **sizes})
    placement = Placement(mesh, zero, nn.axes(model, *config.example))
    objective = causal_objective(model, constrain=constrainer(zero.activations, mesh))
    optimizer = AdamW().make(100)

    def start(placement: Placement | None = None) -> Any:
        return init_state(
            lambda key: model.init(key, *config.example),
            optimizer,
            settings,
            jax.random.key(0),
            placement=placement,
        )

    def shaped(x: Any, sharding: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

    shapes = jax.eval_shape(start)
    state = jax.tree.map(shaped, shapes, placement.of_state(shapes))
    kinds = {"tokens": jnp.int32, "targets": jnp.int32, "mask": jnp.float32}
    kinds |= {"segments": jnp.int32, "positions": jnp.int32}
    rows = (args.rows, args.length)
    batch = {n: jax.ShapeDtypeStruct(rows, k, sharding=placement.rows()) for n, k in kinds.items()}
    step: Any = make_step(objective, optimizer, settings, placement=placement)
    num = sum(x.size for x in jax.tree.leaves(shapes.params))
    program = step.lower(state, batch).compile()
    seconds = []
    if args.time:
        rng = np.random.default_rng(0)
        ids = rng.integers(0, config.vocab_size, rows)
        given = {"tokens": ids, "targets": np.roll(ids, -1, 1), "mask": np.ones(rows)}
        given |= {"segments": np.ones(rows), "positions": np.tile(np.arange(rows[1]), (rows[0], 1))}
        real = {n: jax.device_put(x.astype(kinds[n]), placement.rows()) for n, x in given.items()}
        held = start(placement)
        for _ in range(6):
            began = time.perf_counter()
            held, metrics = step(held, real)
            jax.block_until_ready((held.params, metrics))
            seconds.append(time.perf_counter() - began)
    size = num * settings.precision.dtype.dtype.itemsize
    return program.as_text(), size, sorted(seconds[1:])[2] if seconds else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true", help="compile for eight GPUs")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--only", default="", help="meshes whose name begins so")
    parser.add_argument("--each", action="store_true", help="every array that is sent")
    parser.add_argument("--time", action="store_true", help="run the steps, on virtual devices")
    args = parser.parse_args()
    if args.gpu and args.time:
        parser.error("--time runs the programs, and there is one GPU at most: leave out --gpu")
    if args.gpu:
        flags = "--xla_gpu_shard_autotuning=false --xla_gpu_autotune_level=0"
    else:
        flags = "--xla_force_host_platform_device_count=8"
    os.environ["XLA_FLAGS"] = f"{flags} {os.environ.get('XLA_FLAGS', '')}"
    import jax

    if args.gpu:  # slices × hosts × GPUs of a host
        jax.config.update("jax_mock_gpu_topology", "1x8x1")
    from barrow.parallel.collectives import collectives

    device = jax.devices()[0].device_kind
    print(f"{len(jax.devices())} × {device}, {args.precision}, jax {jax.__version__}")
    for name, level, sizes in MESHES:
        if not name.startswith(args.only):
            continue
        text, whole, seconds = compiled(args, level, sizes)
        found = collectives(text)
        sums: Counter[str] = Counter()
        for one in found:
            sums[one.kind + (", sliced" if one.is_sliced else "")] += one.sent / whole
        parts = "; ".join(f"{kind} {sent:.3f}" for kind, sent in sums.most_common())
        taken = "" if seconds is None else f"   {1e3 * seconds:.0f} ms a step"
        print(f"{name:16} {sum(sums.values()):6.3f}   {parts}{taken}", flush=True)
        for one in found:
            is_whole = level > 1 and one.kind == "all-reduce" and not one.is_sliced
            if (args.each or is_whole) and one.size > 1024:
                print(f"    {one.kind} {one.size:,} B of {one.group} × {one.times}: {one.layer}")


if __name__ == "__main__":
    main()
