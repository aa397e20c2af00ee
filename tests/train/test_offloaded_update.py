"""Optimizer state outside the devices gives the same bits (DEEPSPEED-9, DEEPSPEED-10)."""

from __future__ import annotations

import weakref
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from barrow import nn
from barrow.checkpoint.snapshot import snapshot
from barrow.errors import ConfigError
from barrow.parallel.offload import Kept, refuse_without_memory
from barrow.train import (
    Adafactor,
    AdamW,
    CheckpointSettings,
    Lion,
    MeshSettings,
    Muon,
    Run,
    StepSettings,
    fit,
)
from barrow.train.offloaded_update import refuse_joint_updates
from barrow.train.precision import Precision
from barrow.train.program import make_program


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of an array that is kept outside: fewer than usual, so that tiny models have some."""
    monkeypatch.setattr("barrow.parallel.placement._SMALLEST", 100)


def bits(state: Any) -> dict[str, np.ndarray]:
    """Every array of a state, put together from what each device or file has."""
    held = snapshot(state)
    found = {path: np.zeros(kind.shape, object) for path, kind in held.kinds.items()}
    for piece in held.pieces:
        block = tuple(slice(a, a + n) for a, n in zip(piece.start, piece.array.shape, strict=True))
        found[piece.path][block] = piece.array
    return found


def same(ours: Any, theirs: Any) -> None:
    ours, theirs = bits(ours), bits(theirs)
    assert ours.keys() == theirs.keys()
    for path, array in ours.items():
        np.testing.assert_array_equal(array, theirs[path], err_msg=path)


CASES = {
    "host": ("host", None, StepSettings(ema=0.9)),
    "disk": ("disk", None, StepSettings(accumulate=2)),
    "host, sharded": ("host", (1, 4, 3), StepSettings(clip=0.1)),
    "disk, sharded": ("disk", (2, 2, 1), StepSettings()),
    "host, fp16": ("host", None, StepSettings(Precision("fp16"))),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits(case: str, trial: Any, batch_of: Any) -> None:
    offload, mesh, settings = CASES[case]
    data, fsdp, stage = mesh or (1, 1, 0)
    how = {"settings": settings, "mesh": (data, fsdp), "stage": stage}
    plain, outside = trial(**how), trial(**how, offload=offload)
    assert sum(isinstance(x, Kept) for x in jax.tree.leaves(outside.state.optimizer)) > 10
    same(outside.state, plain.state)
    batches = [batch_of(), batch_of(seed=1), batch_of(seed=2)]
    batches[1]["mask"] = batches[1]["mask"] * np.float32(np.inf)  # changes nothing but the step
    ours, our_metrics = outside.run(*batches)
    theirs, their_metrics = plain.run(*batches)
    assert [int(m.bad_tensor) for m in our_metrics] != [-1, -1, -1]
    jax.tree.map(np.testing.assert_array_equal, our_metrics, their_metrics)
    same(ours, theirs)


def test_two_layers_of_state_are_on_the_devices_at_once(
    trial: Any, batch_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is updated and the next."""
    outside = trial(mesh=(1, 1), offload="host")
    seen: list[Any] = []
    most = 0
    plain = Kept.fetch

    def fetch(self: Kept, number: int) -> jax.Array:
        nonlocal most
        part = plain(self, number)
        seen.append(weakref.ref(part))
        alive = [one() for one in seen]
        most = max(most, sum(one.nbytes for one in alive if one and not one.is_deleted()))
        return part

    monkeypatch.setattr(Kept, "fetch", fetch)
    outside.run(batch_of())
    kept = [x for x in jax.tree.leaves(outside.state.optimizer) if isinstance(x, Kept)]
    total = sum(4 * x.dtype.type(1).size * np.prod(x.shape) for x in kept)
    tables = 2 * 4 * 96 * 32
    layer = (total - tables - 2 * 4 * 16 * 32) / 2
    assert most <= max(2 * layer, layer + tables)
    assert most < 0.75 * total


@pytest.mark.usefixtures("compiled_once")
def test_a_run_resumes_with_its_state_elsewhere(run: Run, tmp_path: Path) -> None:
    run = replace(run, steps=6, checkpoint=CheckpointSettings(2, keep_last=9))
    alone = fit(replace(run, mesh=MeshSettings(fsdp=2, zero=1)), tmp_path / "alone")
    out = tmp_path / "run"
    for steps, offload in ((2, "host"), (4, "disk"), (6, "none")):
        mesh = MeshSettings(fsdp=2, zero=1, offload=offload)
        state = fit(replace(run, steps=steps, mesh=mesh), out)
    same(state, alone)
    # The files of the state on disk are gone.
    assert {path.name for path in out.iterdir()} == {
        path.name for path in (tmp_path / "alone").iterdir()
    }


def test_optimizers_that_work_on_whole_arrays() -> None:
    params = {"layers": {"a": {"kernel": jax.ShapeDtypeStruct((2, 8, 8), jnp.float32)}}}
    for good in (AdamW(), Lion()):
        refuse_joint_updates(good.make(10), nn.Tree(params))
    for bad, word in ((Muon(), "dot_general"), (Adafactor(min_factored=4), "reduce_sum")):
        with pytest.raises(ConfigError, match=rf"treats each number by itself.*{word}"):
            refuse_joint_updates(bad.make(10), nn.Tree(params))
    clipped = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))
    noisy = optax.chain(optax.add_noise(0.1, 0.5, 0), optax.sgd(0.1))
    for joint in (clipped, noisy):
        with pytest.raises(ConfigError, match="such as AdamW or Lion"):
            refuse_joint_updates(joint, nn.Tree(params))


def test_before_anything_is_compiled(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="treats each number by itself"):
        make_program(replace(run, optimizer=Muon(), mesh=MeshSettings(offload="host")))
    with pytest.raises(ValueError, match="offload must be none, host or disk, got 'tape'"):
        MeshSettings(offload="tape")  # type: ignore[arg-type]
    memory = SimpleNamespace(kind="device")
    device = SimpleNamespace(platform="abacus", addressable_memories=lambda: [memory])
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    with pytest.raises(
        ConfigError, match=r"pinned host memory, which abacus .* use mesh.offload=disk"
    ):
        refuse_without_memory("host")
    refuse_without_memory("disk")
