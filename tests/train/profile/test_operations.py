"""Modules of operations, from the text of a compiled program (DEEPSPEED-3)."""

from __future__ import annotations

import pytest

from barrow.train.profile.operations import (
    Origin,
    by_module,
    by_operation,
    origin_of,
    origins,
)
from barrow.train.profile.trace import Operation


@pytest.mark.parametrize(
    ("op_name", "module", "part"),
    [
        ("jit(step)/jvp(layers)/while/body/closed_call/mlp/up/dot_general", "layers/mlp/up", "f"),
        (
            "jit(step)/transpose(jvp(layers))/while/body/checkpoint/rematted_computation/mlp/mul",
            "layers/mlp",
            "b",
        ),
        ("jit(step)/transpose(jvp(layers))/while/body/attention/bq,bk->qk/dot", "", "b"),
        ("jit(step)/transpose(jvp(layers))/while/body/(mlp/up/dot:mlp/down/dot)", "layers", "b"),
        ("jit(step)/jvp(layers)/while/body/eval_jaxpr/mlp/up/dot_general", "layers/mlp/up", "f"),
        ("jit(step)/jvp()/eval_jaxpr/dot_general", "loss", "f"),
        ("jit(step)/jvp()/sub", "loss", "f"),
        ("jit(step)/mul;jit(step)/add", "optimizer", "u"),
        ("jit(step)/jvp(embed)/jit(_take)/select_n", "embed", "f"),
    ],
)
def test_scopes(op_name: str, module: str, part: str) -> None:
    parts = {"f": "forward", "b": "backward", "u": "update"}
    assert origin_of(op_name) == Origin(module or "layers/attention", parts[part])


PROGRAM = """
%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %tanh.1 = f32[4]{0} tanh(%p), metadata={op_name="jit(step)/jvp(mlp)/tanh"}
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0), metadata={op_name="state.params['mlp']"}
  %dot.1 = f32[4]{0} dot(%a, %a), metadata={op_name="jit(step)/transpose(jvp(mlp))/dot_general"}
  %copy.2 = f32[4]{0} copy(%dot.1)
  %fusion.3 = f32[4]{0} fusion(%copy.2), kind=kLoop, calls=%fused
  ROOT %copy.4 = f32[4]{0} copy(%a)
}
"""


def test_fusions_and_copies_have_a_module_too() -> None:
    known = origins(PROGRAM)
    assert known["dot.1"] == known["copy.2"] == Origin("mlp", "backward")
    assert known["fusion.3"] == Origin("mlp", "forward")
    assert "copy.4" not in known  # of an argument
    ran = [
        Operation("dot.1", "0", 0.0, 3.0, False),
        Operation("dot.1", "1", 0.0, 5.0, False),
        Operation("copy.2", "0", 3.0, 4.0, False),
        Operation("all-reduce.9", "0", 4.0, 5.0, True),
    ]
    top = by_operation(ran, known, steps=2)
    assert [one["name"] for one in top] == ["dot.1", "copy.2", "all-reduce.9"]
    assert top[0]["seconds"] == pytest.approx(8 / (2 * 2))
    assert (top[0]["share"], top[0]["times"]) == (0.8, 0.5)
    modules = by_module(ran, known, steps=2)
    assert [(one["module"], one["part"]) for one in modules] == [
        ("mlp", "backward"),
        ("", "communication"),
    ]
    assert modules[0]["share"] == pytest.approx(0.9)
