"""Two processes of four devices save one checkpoint together; one process loads it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
from tests.train.checkpoint_runs import advance, bits, make_run, placement

from barrow.train.checkpoint import Checkpoints
from barrow.weights import open_safetensors


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_two_processes_save_and_one_loads(tmp_path: Path) -> None:
    port = str(free_port())
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
    }
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.train.checkpoint_process",
                port,
                str(number),
                tmp_path / "run",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
        )
        for number in range(2)
    ]
    try:
        said = [process.communicate(timeout=500) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, (out, err) in zip(started, said, strict=True):
        assert process.returncode == 0, out + err
        assert "same" in out.split(), out + err
    first, second = (out for out, _ in said)
    assert "timeout" in first
    assert "waited 0.5 s for process 1 (write/1) and heard nothing" in first
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
    assert bits(checkpoints.restore(1, like, placement=placement(8))) == bits(alone)
    here = advance(state, step, 1)
    for ours, theirs in zip(
        jax.tree.leaves(here.params), jax.tree.leaves(alone.params), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
