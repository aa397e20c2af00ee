"""Changed examples one after another in a process, alone or as one of two."""

from __future__ import annotations

import contextlib
import runpy
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import barrow
from barrow import nn, train
from barrow.errors import ConfigError

SCRIPTS = ("functions", "flax_nnx", "equinox_module")
FOLDER = Path(__file__).parents[2] / "examples" / "runtime"


def rows_of_processes() -> list[int]:
    """Each process gives two rows of its own."""
    rt = barrow.Runtime(rows="process")
    own = np.arange(2) + 10 * rt.world.process
    _, loader = rt.prepare({}, [own])
    return [int(x) for batch in loader for x in rt.gather_for_metrics(batch)]


def updates_in_fp16() -> list[float]:
    """The gradient of a TrainState is 8; float16 holds it times 4096, not times 8192."""
    rt = barrow.Runtime(precision="fp16", plan={"data": 1, "fsdp": 2})
    optimizer = optax.sgd(0.5)
    params = nn.Tree({"w": jnp.ones(4)})
    key = jax.random.key(0)
    state = train.TrainState(jnp.int32(0), params, nn.Tree(), optimizer.init(params), key)
    foreign: Any = {"w": jnp.ones(4)}
    states = [rt.prepare(state), rt.prepare((foreign, optimizer.init(foreign)))]
    for _ in range(5):
        for i, one in enumerate(states):
            batch = np.full((4, 4), 8.0, np.float32)
            states[i], found = rt.step(mean_product, one, batch, optimizer=optimizer)
    own, (other, _) = states
    seen = [rt.gather_for_metrics(x)[0] for x in (own.params["w"], other["w"])]
    return [float(x) for x in (*seen, found["loss_scale"])]


def mean_product(params: Any, x: Any) -> Any:
    return jnp.mean(x @ params["w"])


def main() -> None:
    for name in sys.argv[2:]:
        runpy.run_path(str(FOLDER / "after" / f"{name}.py"))
    if jax.process_count() == 1:
        return
    rt = barrow.Runtime()
    _, loader = rt.prepare({}, [np.arange(8), np.arange(8, 11)])
    rt.print("gathered", [rt.gather_for_metrics(x).tolist() for x in loader])
    rt.print("rows", rows_of_processes())
    rt.print("fp16", updates_in_fp16())
    folder = Path(sys.argv[1]) / "saved"
    state = rt.prepare({"w": np.arange(6.0), "key": jax.random.key(3)})
    rt.save(folder, state)
    found = rt.load(folder, rt.prepare({"w": np.zeros(6), "key": jax.random.key(0)}))
    rt.print("loaded", found["w"].tolist(), bool(jax.random.key_data(found["key"])[1] == 3))
    _, loader = rt.prepare({}, [np.full(4, rt.world.process)])
    with contextlib.suppress(ConfigError):
        list(loader)
        rt.print("other batches are not noticed")
    rt.wait()


if __name__ == "__main__":
    main()
