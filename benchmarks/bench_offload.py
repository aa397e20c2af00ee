"""Adam's state of a model of 1.3B parameters in the host's memory: device memory, time of a step.

    python benchmarks/bench_offload.py [step] [load] [--small]

step         a training step with 8 micro-batches: state on the device, moments in the host's
             memory, and masters there too
load         memory of the host that loading a model takes beside the arrays

Every measurement is a process of its own; sides take turns. `--small` is for a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def config_of(small: bool) -> Any:
    from barrow.models.decoder.model import DecoderConfig

    if small:
        return DecoderConfig(vocab_size=512, width=128, layers=4, heads=4, hidden=512, context=128)
    return DecoderConfig(
        vocab_size=50304, width=2048, layers=24, heads=16, hidden=8192, context=1024
    )


def made(small: bool, mesh: Any, stage: int, offload: str, accumulate: int) -> tuple[Any, ...]:
    import jax
    import jax.numpy as jnp

    from barrow import nn
    from barrow.models.decoder.model import Decoder
    from barrow.parallel import ZERO, constrainer
    from barrow.parallel.placement import Placement
    from barrow.train import AdamW, StepSettings, causal_objective, init_state, make_step
    from barrow.train.precision import Precision

    config = config_of(small)
    precision = Precision("fp32" if small and offload != "masters" else "bf16")
    model = Decoder(config, dtype=jnp.dtype(precision.dtype).name, unroll=True)
    shape = jax.ShapeDtypeStruct((1, 8), jnp.int32)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), shape))
    masters = {
        path: x.dtype
        for path, x in nn.paths(jax.eval_shape(precision.cast, shapes)).items()
        if offload == "masters"
    }
    where: Any = "host" if masters else offload
    placement = Placement(mesh, ZERO[stage], nn.axes(model, shape), where, masters=masters)
    constrain = constrainer(placement.zero.activations, mesh)
    settings = StepSettings(precision, accumulate=accumulate)
    optimizer = AdamW().make(1000)
    objective = causal_objective(model, mask_documents=False, constrain=constrain)

    def start() -> Any:
        return init_state(
            lambda key: model.init(key, shape),
            optimizer,
            settings,
            jax.random.key(0),
            placement=placement,
        )

    return config, start, make_step(objective, optimizer, settings, placement=placement), placement


def batch_of(config: Any, rows: int) -> dict[str, Any]:
    import numpy as np

    ids = np.random.default_rng(0).integers(0, config.vocab_size, (rows, config.context + 1))
    ids = ids.astype(np.int32)
    return {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": np.ones_like(ids[:, 1:], "f4")}


def one_step(offload: str, small: bool) -> dict[str, Any]:
    """Seconds of a step and the most memory of the device."""
    import jax

    from barrow.parallel import make_mesh
    from barrow.parallel.offload import in_use

    mesh = make_mesh(devices=jax.devices()[:1])
    config, start, step, _ = made(small, mesh, 0, offload, 8)
    state = start()
    batch = jax.device_put(batch_of(config, 64))
    losses, seconds = [], []
    for _ in range(8):
        began = time.perf_counter()
        state, metrics = step(state, batch)
        losses.append(float(metrics.loss.value))
        jax.block_until_ready(in_use(state.params))
        seconds.append(time.perf_counter() - began)
    stats = jax.local_devices()[0].memory_stats() or {}
    return {
        "seconds": sorted(seconds[3:])[2],
        "peak": stats.get("peak_bytes_in_use", 0),
        "losses": losses,
        "params": sum(x.size for x in jax.tree.leaves(in_use(state.params))),
    }


def load(small: bool) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    from tests.models.load_process import written

    with tempfile.TemporaryDirectory() as folder:
        for name in ("large", "tiny"):
            (Path(folder) / name).mkdir()
        large = (
            {"width": 256, "layers": 4, "vocab": 8000}
            if small
            else {"width": 2048, "layers": 16, "vocab": 128_000}
        )
        written(Path(folder) / "large", **large)
        written(Path(folder) / "tiny", width=128, layers=3, vocab=256)
        found = {}
        for dtype in ("bfloat16", "float32"):
            command = ["-m", "tests.models.load_process", f"{folder}/large", "null", dtype]
            ended = run(command, TINY=f"{folder}/tiny")
            found[dtype] = json.loads(ended)
        return found


def run(command: list[str], **environment: str) -> str:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    done = subprocess.run(
        [sys.executable, *command],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr[-6000:])
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["step", "load"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if given.only:
        sys.stdout.write("\n" + json.dumps(one_step(given.only, given.small)) + "\n")
        return
    small = ["--small"] if given.small else []
    script = str(Path(__file__).resolve())
    if "step" in given.what:
        print("| state | ms a step | peak GB | last loss |\n|---|---:|---:|---:|")
        for side in ("none", "host", "masters", "none", "host", "masters"):
            one = json.loads(run([script, "--only", side, *small]))
            print(
                f"| {side} | {1e3 * one['seconds']:.0f} | {one['peak'] / 1e9:.2f} "
                f"| {one['losses'][-1]:.6f} |",
                flush=True,
            )
        print(f"{one['params'] / 1e9:.2f}B parameters")
    if "load" in given.what:
        for dtype, one in load(given.small).items():
            print(
                f"load {dtype}: {one['extra'] / 1e6:.0f} MB beside the arrays, "
                f"largest tensor {one['largest'] / 1e6:.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
