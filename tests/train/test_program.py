from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from barrow.nn.layers.experts import Routing
from barrow.nn.layers.remat import ATTENTION_ONLY, EVERYTHING
from barrow.parallel import AXES
from barrow.train import MeshSettings, Run
from barrow.train.precision import Precision
from barrow.train.program import make_program
from barrow.train.step import StepSettings

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


def test_batches_that_cannot_be_divided(run: Run) -> None:
    accumulated = replace(run, step=StepSettings(accumulate=2))
    with pytest.raises(ValueError, match="8 rows .* 8 devices in 2 micro-batches: .* of 16"):
        make_program(accumulated)


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ({"tensor": 8}, "mesh.tensor=8 does not divide the 2 heads; tensor may be 1, 2"),
        ({"sequence": 8, "seq_len": 12}, "mesh.sequence=8 does not divide the 12 tokens of a row"),
        ({"expert": 8}, "mesh.expert must be 1 for a model without experts, got 8"),
        (
            {"expert": 8, "experts": 6},
            "mesh.expert=8 does not divide the 6 experts; expert may be 1, 2$",
        ),
    ],
)
def test_what_a_mesh_does_not_divide(run: Run, mesh: dict[str, int], words: str) -> None:
    rows, experts = (mesh.get(name) for name in ("seq_len", "experts"))
    data = run.data if rows is None else replace(run.data, seq_len=rows)
    model = run.model
    if experts is not None:
        model = replace(model, experts=Routing(experts), mlp_bias=False)
    sizes = {axis: size for axis, size in mesh.items() if axis in AXES}
    settings = MeshSettings(data=1, **sizes)
    with pytest.raises(ValueError, match=words):
        make_program(replace(run, data=data, mesh=settings, model=model))


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
