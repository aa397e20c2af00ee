"""Optimizer state outside the devices gives the same bits (DEEPSPEED-9, DEEPSPEED-10)."""

from __future__ import annotations

import math
import os
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
    Constant,
    EvaluationSettings,
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
from barrow.train.trackers import read_log


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of an array that is kept outside: fewer than usual, so that tiny models have some."""
    monkeypatch.setattr("barrow.parallel.placement._SMALLEST", 100)


def whole(state: Any) -> dict[str, np.ndarray]:
    """Every array of a state, put together from what each device or file has."""
    held = snapshot(state)
    found = {
        path: np.zeros(kind.shape, np.uint32 if kind.dtype == "U32" else np.float32)
        for path, kind in held.kinds.items()
    }
    for piece in held.pieces:
        shape = piece.array.shape
        block = tuple(slice(a, a + n) for a, n in zip(piece.start, shape, strict=True))
        found[piece.path][block] = piece.array
    return found


def same(ours: Any, theirs: Any, *, to_rounding: bool = False) -> None:
    """Bits, where programs are optimised as for users; plain machine code rounds otherwise."""
    ours, theirs = whole(ours), whole(theirs)
    assert ours.keys() == theirs.keys()
    exact = os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] == "0" and not to_rounding
    for path, array in ours.items():
        limit = 0 if exact else 1e-6 * max(1e-3, np.abs(theirs[path]).max(initial=0))
        np.testing.assert_allclose(array, theirs[path], rtol=0, atol=limit, err_msg=path)


SOAK = pytest.mark.soak
CASES = [
    pytest.param("host", (1, 1), 0, StepSettings(ema=0.9), id="host"),
    pytest.param("disk", (1, 2), 3, StepSettings(clip=0.1), id="disk, sharded", marks=SOAK),
    pytest.param("disk", (1, 1), 0, StepSettings(accumulate=2), id="disk", marks=SOAK),
    pytest.param("host", (1, 1), 0, StepSettings(), id="host, plain", marks=SOAK),
    pytest.param("host", (2, 4), 1, StepSettings(), id="host, sharded", marks=SOAK),
    pytest.param("host", (1, 1), 0, StepSettings(Precision("fp16")), id="fp16", marks=SOAK),
]


@pytest.mark.parametrize(("offload", "mesh", "stage", "settings"), CASES)
def test_the_same_bits(
    offload: str, mesh: tuple[int, int], stage: int, settings: Any, trial: Any, batch_of: Any
) -> None:
    how = {"settings": settings, "mesh": mesh, "stage": stage}
    plain, outside = trial(**how), trial(**how, offload=offload)
    assert sum(isinstance(x, Kept) for x in jax.tree.leaves(outside.state.optimizer)) > 10
    same(outside.state, plain.state)
    # Averages, and gradients that were scaled, are computed in other programs than in a whole step.
    to_rounding = settings.ema is not None or settings.precision.is_scaled
    batches = [batch_of(), batch_of(seed=1), batch_of(seed=2)]
    batches[1]["mask"] = np.full_like(batches[1]["mask"], np.inf)  # changes nothing but the step
    ours, our_metrics = outside.run(*batches)
    theirs, their_metrics = plain.run(*batches)
    assert int(our_metrics[1].bad_tensor) != -1
    for mine, other in zip(our_metrics, their_metrics, strict=True):
        np.testing.assert_allclose(mine.loss.value, other.loss.value, rtol=1e-6)
        assert mine.bad_tensor == other.bad_tensor
    same(ours, theirs, to_rounding=to_rounding)


BF16 = StepSettings(Precision("bf16"), clip=0.1)
OF_MASTERS = [
    pytest.param("host", (1, 1), 0, BF16, id="host", marks=SOAK),
    pytest.param("disk", (1, 2), 3, BF16, id="disk, sharded", marks=SOAK),
    pytest.param("host", (2, 4), 1, replace(BF16, accumulate=2), id="host, sharded", marks=SOAK),
    pytest.param("host", (1, 1), 0, StepSettings(Precision("fp16")), id="fp16", marks=SOAK),
]


@pytest.mark.parametrize(("offload", "mesh", "stage", "settings"), OF_MASTERS)
def test_masters_outside(
    offload: str, mesh: tuple[int, int], stage: int, settings: Any, trial: Any, batch_of: Any
) -> None:
    """Parameters and moments are those of a step without; the devices have 16-bit copies."""
    how = {"settings": settings, "mesh": mesh, "stage": stage}
    plain, outside = trial(**how), trial(**how, offload=offload, masters=True)
    same(outside.state, plain.state)
    batches = [batch_of(), batch_of(seed=1), batch_of(seed=2)]
    batches[1]["mask"] = np.full_like(batches[1]["mask"], np.inf)
    (ours, our_metrics), (theirs, their_metrics) = outside.run(*batches), plain.run(*batches)
    for mine, other in zip(our_metrics, their_metrics, strict=True):
        np.testing.assert_allclose(mine.loss.value, other.loss.value, rtol=1e-6)
        assert mine.bad_tensor == other.bad_tensor
    same(ours, theirs, to_rounding=settings.precision.is_scaled)
    kept = {p: x for p, x in nn.paths(ours.params).items() if isinstance(x, Kept)}
    assert {p for p, x in nn.paths(theirs.params).items() if x.size >= 100} == set(kept)
    whole_masters = whole(ours)
    for path, leaf in kept.items():
        assert leaf.used.dtype == settings.precision.dtype
        masters = whole_masters[f"params/{path}"].astype(leaf.used.dtype)
        np.testing.assert_array_equal(leaf.used, masters)


@pytest.mark.soak
def test_two_layers_of_state_are_on_the_devices_at_once(
    trial: Any, batch_of: Any, monkeypatch: pytest.MonkeyPatch, configs: Any
) -> None:
    """The one that is updated and the next."""
    outside = trial(replace(configs["gpt2"], layers=6), mesh=(1, 1), offload="host")
    kept = [x for x in jax.tree.leaves(outside.state.optimizer) if isinstance(x, Kept)]
    layer, rest = (
        sum(4 * math.prod(x.part_shape) for x in kept if x.is_layered == is_layered)
        for is_layered in (True, False)
    )
    seen: list[Any] = []
    most = 0
    plain = Kept.fetch

    def fetch(self: Kept, number: int) -> jax.Array:
        nonlocal most
        part = plain(self, number)
        seen.append(weakref.ref(part))
        alive = [one() for one in seen]
        most = max(most, sum(x.nbytes for x in alive if x is not None and not x.is_deleted()))
        return part

    monkeypatch.setattr(Kept, "fetch", fetch)
    outside.run(batch_of())
    assert len(seen) == sum(x.num_parts for x in kept)
    assert most <= layer + max(layer, rest)


@pytest.mark.usefixtures("compiled_once", "one_device")
def test_a_run_resumes_with_its_state_elsewhere(run: Run, validation: Path, tmp_path: Path) -> None:
    run = replace(
        run,
        optimizer=AdamW(Constant(1e-2)),
        checkpoint=CheckpointSettings(),
        step=StepSettings(Precision("bf16")),
        validation=str(validation),
        evaluation=EvaluationSettings(batches=1),
    )
    alone = fit(replace(run, steps=2), tmp_path / "alone")
    out = tmp_path / "run"
    for steps, offload in ((1, "disk"), (2, "host")):
        mesh = MeshSettings(offload=offload, offload_masters=True)
        state = fit(replace(run, steps=steps, mesh=mesh), out)
    same(state, alone)
    losses = [read_log(tmp_path / name / "log.jsonl")[-1] for name in ("run", "alone")]
    assert losses[0]["validation_loss"] == pytest.approx(losses[1]["validation_loss"], rel=1e-6)
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
    with pytest.raises(ValueError, match="offload_masters needs a place: set mesh.offload=host"):
        MeshSettings(offload_masters=True)
    both = replace(run, mesh=MeshSettings(offload="disk", offload_masters=True))
    with pytest.raises(ConfigError, match="16-bit copies .* set step.precision.name=bf16"):
        make_program(both)
    with pytest.raises(ConfigError, match="step.ema needs the masters on the devices"):
        make_program(replace(both, step=StepSettings(Precision("bf16"), ema=0.9)))
    memory = SimpleNamespace(kind="device")
    device = SimpleNamespace(platform="abacus", addressable_memories=lambda: [memory])
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    with pytest.raises(
        ConfigError, match=r"pinned host memory, which abacus .* use mesh.offload=disk"
    ):
        refuse_without_memory("host")
    refuse_without_memory("disk")
