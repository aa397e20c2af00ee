from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import config, nn
from barrow.checkpoint import Checkpoints
from barrow.errors import ConfigError
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig
from barrow.nn.attention.visible import Sparse
from barrow.nn.layers.experts import Routing
from barrow.nn.layers.remat import ATTENTION_ONLY, EVERYTHING
from barrow.stream.pairs import PairSettings
from barrow.train import MeshSettings, Muon, Run
from barrow.train.precision import Precision
from barrow.train.program import Program, make_program
from barrow.train.step import StepSettings
from barrow.train.tasks.task import opened

pytestmark = pytest.mark.usefixtures("compiled_once")


def test_shapes_and_first_parameters(run: Run) -> None:
    program = make_program(run)
    state = program.start()
    described = jax.tree.map(lambda x: (x.shape, x.dtype), program.shapes)
    assert described == jax.tree.map(lambda x: (x.shape, x.dtype), state)
    assert program.num_params == sum(leaf.size for leaf in jax.tree.leaves(state.params))
    table = state.params["embed"]["table"]
    assert (table == program.start().params["embed"]["table"]).all()
    other = make_program(replace(run, seed=1)).start().params["embed"]["table"]
    assert not (table == other).all()


def test_state_lies_as_the_mesh_says(run: Run) -> None:
    program = make_program(replace(run, mesh=MeshSettings(2, 4, 3)))
    table = program.start().params["embed"]["table"]
    assert table.addressable_shards[0].data.shape == (259, 4)


@pytest.mark.parametrize(
    ("change", "model"),
    [
        ({"remat": "attention"}, {"remat": ATTENTION_ONLY}),
        ({"remat": "all"}, {"remat": EVERYTHING}),
        ({"unroll": True}, {"unroll": True, "remat": None}),
        ({"step": StepSettings(Precision("bf16"))}, {"dtype": "bfloat16", "unroll": False}),
        ({"step": StepSettings(Precision("fp16"))}, {"dtype": "float16"}),
    ],
)
def test_how_the_model_is_run(run: Run, change: dict[str, Any], model: dict[str, Any]) -> None:
    made = make_program(replace(run, **change)).model
    assert {name: getattr(made, name) for name in model} == model
    assert made.config == run.model


def test_fp8_for_a_narrow_model_is_warned_of(run: Run) -> None:
    with pytest.warns(UserWarning, match="fp8 pays from a width of 2,048 on, got 16"):
        make_program(replace(run, step=StepSettings(Precision("fp8"))))


def test_batches_that_cannot_be_divided(run: Run) -> None:
    accumulated = replace(run, step=StepSettings(accumulate=2))
    with pytest.raises(ValueError, match="8 rows .* 8 devices in 2 micro-batches: .* of 16"):
        make_program(accumulated)


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ({"tensor": 8}, "mesh.tensor=8 does not divide the 2 heads; tensor may be 1, 2"),
        ({"sequence": 8, "seq_len": 12}, "mesh.sequence=8 does not divide the 12 tokens of a row"),
        (
            {"sequence": 8, "sparse": 4},
            "mesh.sequence=8 does not divide the 2 heads of a device .*; sequence may be 1, 2",
        ),
        (
            {"sequence": 2, "tensor": 2, "data": 2, "sparse": 4},
            "mesh.sequence=2 does not divide the 1 heads of a device .*; sequence may be 1$",
        ),
        ({"expert": 8}, "mesh.expert must be 1 for a model without experts, got 8"),
        (
            {"expert": 8, "experts": 6},
            "mesh.expert=8 does not divide the 6 experts; expert may be 1, 2$",
        ),
        ({"stage": 8}, "mesh.stage=8 does not divide the 6 repeated layers; stage may be 1, 2"),
        (
            {"stage": 2, "fsdp": 4, "rounds": 2, "micro_batches": 2},
            "stage=2 × rounds=2 does not divide the 6 repeated layers; stage may be 1$",
        ),
        (
            {"stage": 2, "fsdp": 4, "rounds": 4, "micro_batches": 2},
            "× rounds=4 does not divide the 6 repeated layers; rounds must divide 6",
        ),
        ({"stage": 2, "fsdp": 4, "micro_batches": 4}, "8 rows .* may be 2; or .* multiple of 16"),
        ({"stage": 8, "micro_batches": 4}, "a pipeline of 8 stages needs as many micro-batches"),
    ],
)
def test_what_a_mesh_does_not_divide(run: Run, mesh: dict[str, int], words: str) -> None:
    rows, experts, sparse = (mesh.get(name) for name in ("seq_len", "experts", "sparse"))
    data = run.data if rows is None else replace(run.data, seq_len=rows)
    model = replace(run.model, layers=6)
    if experts is not None:
        model = replace(model, experts=Routing(experts), mlp_bias=False)
    if sparse is not None:
        model = replace(model, sparse=Sparse(size=sparse))
    others = ("seq_len", "experts", "sparse")
    sizes = {"data": 1, **{n: size for n, size in mesh.items() if n not in others}}
    settings = MeshSettings(**sizes)
    with pytest.raises(ValueError, match=words):
        make_program(replace(run, model=model, data=data, mesh=settings))


def test_an_axis_that_is_none(run: Run) -> None:
    with pytest.raises(ConfigError, match="mesh.tensr: no setting 'tensr'; did you mean 'tensor'"):
        config.override(run, ["mesh.tensr=2"])


def test_settings_of_a_pipeline_need_one() -> None:
    with pytest.raises(ValueError, match="are of a pipeline; set mesh.stage"):
        MeshSettings(rounds=2)
    with pytest.raises(ValueError, match="micro_batches must be ≥ 1, got 0"):
        MeshSettings(stage=2, micro_batches=0)


@pytest.mark.parametrize(
    ("layers", "words"),
    [(1, "but no layers of this model are stacked"), (12, "the 11 repeated .* may be 1$")],
)
def test_towers_that_stages_cannot_share(layers: int, words: str) -> None:
    """The last layer of a tower of CLIP is not repeated."""
    model = ClipConfig(image=ResNetConfig(), text=TextConfig(layers=layers))
    mesh = MeshSettings(stage=2)
    with pytest.raises(ValueError, match=words):
        make_program(Run(model, PairSettings(batch=16), 1, mesh=mesh))


BATCH = {
    "tokens": np.arange(256).reshape(16, 16) * 7 % 31,
    "targets": np.arange(256).reshape(16, 16) * 5 % 29,
    "segments": np.tile(np.repeat([1, 2], [5, 11]), (16, 1)),
    "positions": np.tile(np.r_[0:5, 0:11], (16, 1)),
    "mask": np.arange(256).reshape(16, 16) % 3 > 0,
}


def on_mesh(run: Run, *, experts: bool = False, **mesh: int) -> Program:
    model = replace(run.model, layers=8, heads=4, vocab_size=32)
    if experts:
        model = replace(model, experts=Routing(4), mlp_bias=False)
    data = replace(run.data, batch=16)
    return make_program(
        replace(run, model=model, data=data, mesh=MeshSettings(**{"data": 1, **mesh}))
    )


@pytest.mark.soak
@pytest.mark.parametrize("name", ["fp32", "fp16"])
def test_a_pipeline_accumulates_and_scales(run: Run, name: Any) -> None:
    """Two steps with micro-batches of the step and of the pipeline, and ZeRO."""
    run = replace(run, step=StepSettings(Precision(name), accumulate=2))
    found = []
    for mesh in ({"data": 8}, {"stage": 4, "fsdp": 2, "zero": 2}):
        program = on_mesh(run, **mesh)
        state, losses = program.start(), []
        for _ in range(2):
            state, metrics = program.advance(state, BATCH)
            losses += [metrics.loss.value, metrics.grad_norm, metrics.bad_tensor]
        found.append(jax.device_get(losses))
        if "stage" in mesh:
            kernel = state.params["layers"]["mlp"]["up"]["kernel"]
            assert kernel.addressable_shards[0].data.shape == (2, 8, 32)
    np.testing.assert_allclose(*found, rtol=1e-4 if name == "fp32" else 1e-2)


MESHES = [
    {"stage": 2, "fsdp": 2, "tensor": 2, "zero": 3},
    {"data": 2, "sequence": 4},
    {"data": 8},
    {"fsdp": 8, "zero": 3},
    {"tensor": 4, "data": 2},
    {"stage": 8},
    {"stage": 2, "rounds": 2, "data": 4},
]


def check_restored(
    run: Run, folder: Path, meshes: list[dict[str, int]], *, experts: bool = False
) -> None:
    """A state saved on each mesh has the same next loss on the others."""
    programs = [on_mesh(run, experts=experts, **mesh) for mesh in meshes]
    for first, saver in enumerate(programs):
        state, _ = saver.advance(saver.start(), BATCH)
        checkpoints = Checkpoints(folder / str(first))
        checkpoints.save(state, {}, wait=True)
        before = jax.device_get(nn.paths(state.params))
        wanted = float(saver.advance(state, BATCH)[1].loss.value)
        for reader in programs:
            restored = checkpoints.restore(1, reader.shapes, shardings=reader.shardings)
            for path, leaf in nn.paths(restored.params).items():
                np.testing.assert_array_equal(leaf, before[path])
            loss = float(reader.advance(restored, BATCH)[1].loss.value)
            assert loss == pytest.approx(wanted, rel=1e-5)


def test_a_checkpoint_of_one_mesh_resumes_on_another(run: Run, tmp_path: Path) -> None:
    """DEEPSPEED-14: with stages and without; with micro-batches of the step and of the pipeline."""
    run = replace(run, step=StepSettings(accumulate=2))
    check_restored(run, tmp_path, [{"stage": 4, "fsdp": 2, "zero": 2}, {"data": 4, "tensor": 2}])


@pytest.mark.soak
def test_a_checkpoint_of_any_mesh_resumes_on_any_other(run: Run, tmp_path: Path) -> None:
    check_restored(run, tmp_path, MESHES)


@pytest.mark.soak
def test_a_checkpoint_of_experts_resumes_on_any_mesh(run: Run, tmp_path: Path) -> None:
    meshes = [*MESHES[:3], {"expert": 4, "data": 2}, {"stage": 2, "expert": 2, "fsdp": 2}]
    check_restored(run, tmp_path, meshes, experts=True)


@pytest.mark.soak
def test_experts_are_trained_on_a_mesh(run: Run) -> None:
    """DEEPSPEED-11: each device has its experts, Muon steps them, metrics say what was dropped."""
    routing = Routing(8, 2, capacity=0.5)
    model = replace(run.model, experts=routing, mlp_bias=False)
    mesh = MeshSettings(data=2, expert=4)
    program = make_program(replace(run, model=model, mesh=mesh, optimizer=Muon()))
    state = program.start()
    kernel = state.params["layers"]["mlp"]["experts"]["up"]["kernel"]
    assert kernel.addressable_shards[0].data.shape[1] == 2
    before = jax.device_get(kernel)
    data, _ = opened(program.task)
    state, metrics = program.advance(state, data.place(0, program.placement.rows()))
    after = jax.device_get(state.params["layers"]["mlp"]["experts"]["up"]["kernel"])
    assert 0 < float(metrics.metrics["dropped"].value) < 1
    assert (before != after).any(axis=(0, 2, 3)).all()
    assert float(metrics.loss.value) > float(metrics.metrics["nats"].value)


def test_documents_are_masked_or_not(run: Run) -> None:
    """Unmasked, a later document sees the ones before it: the loss is another."""
    rows = {
        "tokens": jnp.arange(128).reshape(8, 16) % 7,
        "targets": jnp.arange(128).reshape(8, 16) % 5,
        "segments": jnp.tile(jnp.repeat(jnp.array([1, 2]), 8), (8, 1)),
        "positions": jnp.tile(jnp.arange(8), (8, 2)),
        "mask": jnp.ones((8, 16), bool),
    }
    losses = []
    for mask_documents in (True, False):
        program = make_program(replace(run, mask_documents=mask_documents))
        losses.append(float(program.evaluate(program.start(), [rows])["loss"].value))
    assert losses[0] != losses[1]
