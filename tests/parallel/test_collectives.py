"""What programs send between devices (DEEPSPEED-1, DEEPSPEED-13)."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from barrow import nn
from barrow.models.decoder.model import DecoderConfig
from barrow.parallel import ZERO, constrainer, make_mesh
from barrow.parallel.collectives import Collective, collectives
from barrow.parallel.placement import Placement
from barrow.train import AdamW, StepSettings, causal_objective, init_state
from barrow.train.step import pure_gradients

TEXT = """HloModule jit_step, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %add.1 = f32[] add(%a, %b)
}

%taken (param_0: f32[64,8], param_1: s32[]) -> f32[8,8] {
  %param_0 = f32[64,8]{1,0} parameter(0)
  %param_1 = s32[] parameter(1)
  %bitcast.1 = f32[64,8]{1,0} bitcast(%param_0)
  ROOT %dynamic-slice.1 = f32[8,8]{1,0} dynamic-slice(%bitcast.1, %param_1, %param_1)
}

%body (held: (s32[], bf16[4,16])) -> (s32[], bf16[4,16]) {
  %held = (s32[], bf16[4,16]{1,0}) parameter(0)
  %piece = bf16[4,16]{1,0} get-tuple-element(%held), index=1
  %gather = (bf16[4,16]{1,0}, bf16[8,16]{1,0}) all-gather-start(%piece),\
 replica_groups=[4,2]<=[8], dimensions={0}, metadata={op_name="jit(step)/layers/up"}
  %gathered = bf16[8,16]{1,0} all-gather-done(%gather)
  ROOT %out = (s32[], bf16[4,16]{1,0}) tuple(%number, %moved)
}

ENTRY %main (x: f32[64,8], y: f32[]) -> f32[8,8] {
  %x = f32[64,8]{1,0} parameter(0)
  %y = f32[] parameter(1)
  %both = (f32[64,8]{1,0}, f32[]) all-reduce(%x, %y),\
 replica_groups=mesh['a'=2,'b'=4] {'b'}, to_apply=%add,\
 metadata={op_name="jit(step)/sums"}
  %first = f32[64,8]{1,0} get-tuple-element(%both), index=0
  %second = f32[] get-tuple-element(%both), index=1
  %cut = f32[8,8]{1,0} fusion(%first, %place), kind=kLoop, calls=%taken
  %loop = (s32[], bf16[4,16]{1,0}) while(%init), condition=%until, body=%body,\
 backend_config={"known_trip_count":{"n":"3"}}
  %sent = f32[64,8]{1,0} collective-permute(%x), source_target_pairs={{0,1},{1,0}}
  %part = f32[8,8]{1,0} reduce-scatter(%x), replica_groups={{0,1,2,3,4,5,6,7}},\
 dimensions={0}, to_apply=%add
  ROOT %same = f32[64,8]{1,0} all-to-all(%x), replica_groups={}, dimensions={0}
}
"""


def test_the_text_of_a_program() -> None:
    found = collectives(TEXT)
    assert found == [
        Collective("all-reduce", "both", 2048, 4, 1, "jit(step)/sums", is_sliced=True),
        Collective("all-reduce", "both", 4, 4, 1, "jit(step)/sums"),
        Collective("all-gather", "gather", 256, 2, 3, "jit(step)/layers/up"),
        Collective("collective-permute", "sent", 2048, 8, 1, ""),
        Collective("reduce-scatter", "part", 2048, 8, 1, ""),
        Collective("all-to-all", "same", 2048, 8, 1, ""),
    ]
    assert [one.sent for one in found] == [1536, 6, 384, 2048, 1792, 1792]
    used = collectives(TEXT.replace("bitcast(%param_0)", "negate(%param_0)"))
    assert not used[0].is_sliced


CONFIG = DecoderConfig(
    vocab_size=128, width=32, layers=2, heads=4, hidden=64, context=16, tied=False
)


@functools.cache
def of_step(level: int) -> tuple[int, list[Collective]]:
    """Bytes of the parameters, and what is sent for their gradients."""
    model = CONFIG.module()
    zero, mesh = ZERO[level], make_mesh(data=1 if level else 8, fsdp=8 if level else 1)
    placement = Placement(mesh, zero, nn.axes(model, *CONFIG.example))
    objective = causal_objective(
        model, mask_documents=False, constrain=constrainer(zero.activations, mesh)
    )
    settings = StepSettings()
    take = pure_gradients(objective, settings, placement=placement)

    def start() -> Any:
        first = lambda key: model.init(key, *CONFIG.example)  # noqa: E731
        return init_state(first, AdamW().make(1), settings, jax.random.key(0))

    def shaped(x: Any, sharding: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

    shapes = jax.eval_shape(start)
    state = jax.tree.map(shaped, shapes, placement.of_state(shapes))
    kinds = {"tokens": jnp.int32, "targets": jnp.int32, "mask": jnp.float32}
    rows = {
        n: jax.ShapeDtypeStruct((8, 16), k, sharding=placement.rows()) for n, k in kinds.items()
    }
    program = jax.jit(lambda s, b: take(s, b).grads).lower(state, rows).compile()
    return 4 * nn.num_params(shapes.params), collectives(program.as_text())


def total(found: list[Collective], **of: Any) -> float:
    return sum(one.sent for one in found if all(getattr(one, name) == x for name, x in of.items()))


def test_data_parallel_steps_add_up_gradients_once() -> None:
    size, found = of_step(0)
    assert {one.kind for one in found} == {"all-reduce"}
    assert total(found) == pytest.approx(2 * size * 7 / 8, rel=0.01)


@pytest.mark.parametrize("level", [2, 3])
def test_no_device_gets_whole_gradients(level: int) -> None:
    """Sums are divided at once: a reduce-scatter, where the compiler makes those."""
    size, found = of_step(level)
    assert total(found, kind="all-reduce", is_sliced=False) < 0.01 * size
    divided = total(found, kind="all-reduce", is_sliced=True) + total(found, kind="reduce-scatter")
    # The gradient of the embedding's table needs fewer bytes: those of the tokens.
    table = 4 * 128 * 32
    assert (size - table) * 7 / 8 <= divided <= size * 7 / 8
    gathered = [one for one in found if one.kind == "all-gather" and "layers" in one.layer]
    if level == 3:  # a layer's, when its turn comes
        kernels = [one for one in gathered if one.size > 4 * 64]
        assert {one.times for one in kernels} == {2}
        assert sum("transpose" not in one.layer for one in kernels) == 6
        assert sum("transpose" in one.layer for one in kernels) == 6
    else:
        assert not gathered
        assert total(found, kind="all-gather") == pytest.approx(size * 7 / 8, rel=0.02)


def test_zero_3_sends_at_most_half_as_much_again() -> None:
    """3Ψ against 2Ψ."""
    assert total(of_step(3)[1]) <= 1.5 * total(of_step(0)[1])
