"""Checkpoints of a training state: barrow beside Orbax, in the same run, on the same disk.

Three times are taken: how long a save holds up the training, how long until all is on the disk, and
how long a restore takes. Both write in the background; barrow also syncs every file and takes
SHA-256 of all bytes, and verifies it at restore, so hashing alone is shown as well.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp

from barrow.checkpoint import Checkpoints
from barrow.nn.tree import Tree
from barrow.train.state import TrainState


def make_state(num_mb: int) -> TrainState:
    """Parameters and AdamW's moments, all together of so many megabytes; some dozens of arrays."""
    num_layers = 12
    rows = num_mb * 1_000_000 // 3 // 4 // num_layers // 1024
    keys = jax.random.split(jax.random.key(0), num_layers)
    params = Tree(
        {f"layer{i:02}": {"kernel": jax.random.normal(k, (rows, 1024))} for i, k in enumerate(keys)}
    )
    # Moments as after some steps: zeros would flatter whoever compresses.
    moments = jax.tree.map(
        lambda x: jax.random.normal(jax.random.key(2), x.shape) if x.ndim else x,
        optax.adamw(1e-3).init(params),
    )
    return TrainState(jnp.int32(1), params, Tree(), moments, jax.random.key(1))


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def barrow_times(state: TrainState, folder: Path) -> tuple[float, float, float]:
    checkpoints = Checkpoints(folder)
    held = timed(lambda: checkpoints.save(state, {}))
    rest = timed(checkpoints.wait)
    back = timed(lambda: jax.block_until_ready(checkpoints.restore(1, state)))
    return held, held + rest, back


def orbax_times(state: TrainState, folder: Path) -> tuple[float, float, float]:
    # Its keys have to be plain arrays; the rest is the same tree, as a dict.
    plain = {
        "step": state.step,
        "params": {name: dict(layer) for name, layer in state.params.items()},
        "optimizer": jax.tree.leaves(state.optimizer),
        "key": jax.random.key_data(state.key),
    }
    with ocp.StandardCheckpointer() as checkpointer:
        held = timed(lambda: checkpointer.save(folder / "1", plain))
        rest = timed(checkpointer.wait_until_finished)
        shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, plain)
        back = timed(lambda: jax.block_until_ready(checkpointer.restore(folder / "1", shapes)))
    return held, held + rest, back


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=600, help="megabytes of the state")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=None, help="where to write; a temporary folder")
    options = parser.parse_args()
    state = jax.block_until_ready(make_state(options.mb))
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state.params)) * 3
    taken: dict[str, list[tuple[float, float, float]]] = {"barrow": [], "Orbax": []}
    for _ in range(options.rounds):
        for name, measure in (("barrow", barrow_times), ("Orbax", orbax_times)):
            folder = Path(tempfile.mkdtemp(dir=options.folder))
            taken[name].append(measure(state, folder))
            shutil.rmtree(folder)
    data = os.urandom(64 << 20)
    hashing = len(data) / timed(lambda: hashlib.sha256(data).digest()) / 1e9
    versions = {n: importlib.metadata.version(n) for n in ("jax", "orbax-checkpoint")}
    print(f"{platform.machine()}, {os.cpu_count()} cores, {jax.default_backend()}; {versions}")
    print(
        f"state of {size / 1e6:,.0f} MB, medians of {options.rounds}; SHA-256 {hashing:.2f} GB/s\n"
    )
    print("| | training held up, s | until on disk, s | restored, s |")
    print("|---|---|---|---|")
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in taken.items()
    }
    for name, row in medians.items():
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
    ratios = [b / a for a, b in zip(medians["barrow"], medians["Orbax"], strict=True)]
    print("| Orbax ÷ barrow | " + " | ".join(f"{ratio:.2f}×" for ratio in ratios) + " |")


if __name__ == "__main__":
    main()
