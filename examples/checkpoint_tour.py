"""Save a training state in the background, restore it on other devices, load its parameters."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax
import jax.numpy as jnp
import numpy as np

from barrow import nn
from barrow.checkpoint import Checkpoints, load_into, load_params
from barrow.parallel import ZERO, make_mesh
from barrow.parallel.placement import Placement
from barrow.train.objectives.objective import Loss, Objective
from barrow.train.optimizers import AdamW
from barrow.train.step import StepSettings, init_state, make_step

model = nn.Dense(1)
x = jnp.asarray(np.random.default_rng(0).normal(size=(8, 4)), jnp.float32)
batch = {"x": x, "y": x.sum(1, keepdims=True)}


def loss(params: nn.Tree, collections: nn.Tree, batch: dict[str, jax.Array], _: jax.Array) -> Loss:
    apart = model.apply(params, batch["x"]) - batch["y"]
    return Loss(jnp.sum(apart**2), jnp.float32(len(batch["x"])), {}, collections)


optimizer = AdamW().make(num_steps=100)
state = init_state(lambda key: model.init(key, x), optimizer, StepSettings(), jax.random.key(0))
step = make_step(Objective(loss), optimizer, StepSettings())
shapes = jax.eval_shape(lambda s: s, state)

with tempfile.TemporaryDirectory() as folder:
    run = Path(folder) / "run"
    with Checkpoints(run / "checkpoints", keep_last=2, keep_every=40) as checkpoints:
        while int(state.step) < 100:
            state, metrics = step(state, batch)
            if int(state.step) % 20 == 0:
                checkpoints.save(state, {"position": int(state.step)})
    print("kept:", checkpoints.steps())

    # The same numbers sharded over four devices; on one; by name alone.
    latest = checkpoints.latest()
    assert latest is not None
    place = Placement(
        make_mesh(data=1, fsdp=4, devices=jax.devices()[:4]), ZERO[3], nn.axes(model, x)
    )
    again = checkpoints.restore(latest, shapes, shardings=place.of_state(shapes))
    assert jnp.array_equal(again.params["kernel"], state.params["kernel"])
    print("position:", checkpoints.about(latest)["position"])
    print("kernel is on", len(again.params["kernel"].sharding.device_set), "devices")
    print("names:", sorted(load_params(run)))

    # Into a model with another name for its weight and an additional bias.
    other = {"weight": jnp.zeros((4, 1)), "offset": jnp.zeros(1)}
    params, report = load_into(other, run, {"kernel": "weight", "bias": None})
    print(report.report())
