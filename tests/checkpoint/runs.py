"""A tiny model and the real step, for tests of checkpoints; also the program that tests kill."""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.checkpoint import Checkpoints
from barrow.nn.tree import Tree
from barrow.parallel import ZERO, make_mesh
from barrow.parallel.placement import Placement
from barrow.train.objectives.objective import Loss, Mean, Objective
from barrow.train.optimizers import Adafactor, AdamW, Lion, Muon
from barrow.train.state import TrainState
from barrow.train.step import Step, StepSettings, init_state, make_step

VOCAB, LAYERS = 16, 2
AXES = Tree(
    {
        "embed": {"table": ("vocab", "embed")},
        "layers": {"mlp": {"kernel": ("layers", "embed", "mlp")}},
        "norm": {"scale": ("embed",)},
        "head": {"kernel": ("embed", "vocab")},
    }
)


def init(key: jax.Array, *, width: int = 8) -> Tree:
    a, b, c = jax.random.split(key, 3)
    return Tree(
        {
            "embed": {"table": jax.random.normal(a, (VOCAB, width))},
            "layers": {"mlp": {"kernel": 0.3 * jax.random.normal(b, (LAYERS, width, width))}},
            "norm": {"scale": jnp.ones(width)},
            "head": {"kernel": 0.3 * jax.random.normal(c, (width, VOCAB))},
        }
    )


def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
    """With dropout, so that the key matters, and a collection that changes."""
    x = params["embed"]["table"][batch["tokens"]]
    for layer in range(LAYERS):
        y = jnp.tanh(x @ params["layers"]["mlp"]["kernel"][layer])
        kept = jax.random.bernoulli(jax.random.fold_in(key, layer), 0.9, y.shape)
        x = x + jnp.where(kept, y / 0.9, 0)
    logits = (x * params["norm"]["scale"]) @ params["head"]["kernel"]
    nats = -jax.nn.log_softmax(logits.astype(jnp.float32))
    total = jnp.take_along_axis(nats, batch["targets"][..., None], -1).sum()
    seen = 0.9 * collections["seen"] + x.astype(jnp.float32).mean()
    weight = jnp.float32(batch["targets"].size)
    return Loss(total, weight, {"twice": Mean(2 * total, weight)}, Tree({"seen": seen}))


def batch(step: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(step)
    tokens = rng.integers(0, VOCAB, (8, 6)).astype(np.int32)
    return {"tokens": tokens, "targets": (tokens * 3 + 1) % VOCAB}


def placement(num_devices: int, stage: int = 3) -> Placement:
    mesh = make_mesh(data=1, fsdp=num_devices, devices=jax.devices()[:num_devices])
    return Placement(mesh, ZERO[stage], AXES)


def make_run(
    settings: StepSettings | None = None,
    *,
    optimizer: str = "adamw",
    width: int = 8,
    devices: int | None = None,
) -> tuple[TrainState, Step]:
    """The state that a run begins with, and its step."""
    state, step = _compiled(settings or StepSettings(), optimizer, width, devices)
    return jax.tree.map(jnp.copy, state), step  # the step takes what it is given


@functools.cache
def _compiled(
    settings: StepSettings, optimizer: str, width: int, devices: int | None
) -> tuple[TrainState, Step]:
    place = None if devices is None else placement(devices)
    kinds = {"adamw": AdamW, "lion": Lion, "adafactor": Adafactor, "muon": Muon}
    transformation = kinds[optimizer]().make(20)
    state = init_state(
        lambda key: init(key, width=width),
        transformation,
        settings,
        jax.random.key(7),
        collections=Tree({"seen": jnp.float32(0)}),
        placement=place,
    )
    return state, make_step(Objective(loss), transformation, settings, placement=place)


def advance(state: TrainState, step: Step, num: int) -> TrainState:
    for _ in range(num):
        state, _ = step(state, batch(int(state.step)))
    return state


def three_steps(folder: Path) -> Checkpoints:
    """Checkpoints of steps 1, 2 and 3 of a run."""
    checkpoints = Checkpoints(folder)
    state, step = make_run()
    for _ in range(3):
        state = advance(state, step, 1)
        checkpoints.save(state, {"position": int(state.step)})
    checkpoints.wait()
    return checkpoints


def bits(tree: Any) -> dict[str, bytes]:
    """All leaves as bytes, by path."""
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        found[jax.tree_util.keystr(path)] = str((array.dtype, array.shape)).encode() + (
            array.tobytes()
        )
    return found


def say(words: str) -> None:
    """To the test that started this process."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main(folder: str, num_steps: int) -> None:
    """Train to a step from wherever the folder stands, saving at every step; print a digest."""
    state, step = make_run(StepSettings(ema=0.9), width=128)
    advance(jax.tree.map(jnp.copy, state), step, 1)  # compiled, so that kills fall into saves
    with Checkpoints(Path(folder), keep_last=2) as checkpoints:
        latest = checkpoints.latest()
        if latest is not None:
            state = checkpoints.restore(latest, state)
            assert checkpoints.about(latest) == {"data": latest}
        say(f"ready {int(state.step)}")
        while int(state.step) < num_steps:
            state = advance(state, step, 1)
            checkpoints.save(state, {"data": int(state.step)})
    digest = hashlib.sha256(b"".join(bits(state).values())).hexdigest()
    say(f"done {digest}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
