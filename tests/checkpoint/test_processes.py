"""Two processes of four devices save one checkpoint together; one process loads it."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import numpy as np
from tests.checkpoint.runs import advance, bits, make_run, placement
from tests.parallel.several_processes import in_two

from barrow.checkpoint import Checkpoints
from barrow.weights import open_safetensors


def test_two_processes_save_and_one_loads(tmp_path: Path) -> None:
    first, second = in_two("tests.checkpoint.process", tmp_path / "run")
    assert "same" in first.split()
    assert "same" in second.split()
    assert "timeout" in first
    assert "no answer from process 1 in 0.5 s (write/1)" in first
    assert "process 1 failed: OSError: [Errno 28] No space left on device" in first
    assert "heard" in second
    assert "No space left on device" in second

    folder = tmp_path / "run" / "step-000000001"
    assert sorted(os.listdir(folder)) == [
        *("arrays-00000.safetensors", "arrays-00001.safetensors", "index.json")
    ]
    kernel = "params/layers/mlp/kernel"
    for number in range(2):
        names = set(open_safetensors(folder / f"arrays-{number:05}.safetensors"))
        columns = range(4 * number, 4 * number + 4)
        expected = {f"{kernel}@0,{i},0" if i else kernel for i in columns}
        assert {name for name in names if name.startswith(kernel)} == expected
        assert ("step" in names) == (number == 0)

    checkpoints = Checkpoints(tmp_path / "run")
    assert checkpoints.about(1) == {"from": "both"}
    state, step = make_run(devices=8)
    like = jax.eval_shape(lambda s: s, state)
    alone = checkpoints.restore(1, like)
    assert bits(checkpoints.restore(1, like, shardings=placement(8).of_state(like))) == bits(alone)
    here = advance(state, step, 1)
    for ours, theirs in zip(
        jax.tree.leaves(here.params), jax.tree.leaves(alone.params), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
