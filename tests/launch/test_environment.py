"""What `barrow env` says, and its self-test (ACCELERATE-2, ACCELERATE-15)."""

from __future__ import annotations

import importlib.metadata
import json
import tomllib
from pathlib import Path

import jax
import numpy as np
import pytest

from barrow.cli.main import run
from barrow.errors import ConfigError, PeerFailed
from barrow.launch import environment


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARROW_CACHE", str(tmp_path / "cache"))


def test_what_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine with a stand-in for the driver's program, and one library too few."""
    program = tmp_path / "nvidia-smi"
    topology = "\\033[4mGPU0 NV18 GPU1\\033[0m\\n\\nLegend:\\n X = Self\\n"
    program.write_text(f'#!/bin/sh\n[ "$1" = topo ] && printf "{topology}" || echo 570.1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lines = ["jax>=0.10; extra == 'train'", "nothing-such>=2; extra == 'ray'", "numpy>=1.26"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    for name in ("RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=h", "MASTER_PORT=5"):
        monkeypatch.setenv(*name.split("="))
    assert run(["env", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["world"]["by"] == "torchrun"
    assert (found["world"]["process"], found["world"]["address"]) == (1, "h:5")
    assert found["versions"]["jax"] == jax.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert found["versions"]["NVIDIA driver"] == "570.1"
    assert found["links"] == "GPU0 NV18 GPU1"
    assert len(found["devices"]) == len(jax.devices())
    assert all(one["memory"] > 2**27 for one in found["devices"])
    assert found["missing"] == {"ray": ["nothing-such"]}
    assert run(["env"]) == 0
    said = capsys.readouterr().out
    assert "started by  torchrun: process 1 of 2, h:5" in said
    assert "missing     ray (building on a cluster): nothing-such" in said
    assert "measured    no: barrow env --measure" in said


def test_every_extra_is_explained() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    extras = set(tomllib.loads(text)["project"]["optional-dependencies"])
    assert set(environment.EXTRAS) == extras - {"test", "bench"}


def test_measured_constants_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from barrow.launch import constants

    links = (constants.Link(2, 1e-4, 6e9), constants.Link(8, 2e-4, 7e9))
    made = constants.Constants("cpu", {"float32": 2e12}, 3e9, 4e9, 5e-6, links, devices=8)
    monkeypatch.setattr(constants, "measure", lambda: made)
    assert run(["env", "--measure"]) == 0
    rates = "float32 2 TFLOP/s, memory 3 GB/s, host 4 GB/s, 2 linked 6 GB/s 100 µs, "
    rates += "8 linked 7 GB/s 200 µs, dispatch 5 µs"
    assert f"measured    {rates}" in capsys.readouterr().out
    assert constants.stored("cpu", 8) == made


def test_self_test_of_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "--test"]) == 0
    assert "self-test   passed by all processes (1), on " in capsys.readouterr().out


def test_a_process_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    for name in ("PROCESS=0", "PROCESSES=2", f"ADDRESS={address}"):
        monkeypatch.setenv(*f"BARROW_{name}".split("="))
    with pytest.raises(ConfigError, match=f"process 1 of 2 did not come to {address} in time"):
        environment.self_test(limit=1)


def test_wrong_numbers_are_named() -> None:
    sent = np.array([1.0, 2.0, 3.0])
    environment._refuse_wrong(sent, sent, 6.0, [0, 0, 1])
    with pytest.raises(PeerFailed, match="wrong numbers from device 2 of process 1$"):
        environment._refuse_wrong(sent, np.array([1.0, 2.0, 0.0]), 6.0, [0, 0, 1])
    with pytest.raises(PeerFailed, match="a sum over 3 devices must be 6, got 5"):
        environment._refuse_wrong(sent, sent, 5.0, [0, 0, 1])
