"""Weights shown, compared and converted by commands (ACCELERATE-15)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tests.checkpoint.runs import make_run

from barrow.checkpoint import Checkpoints, load_params, save_params


@pytest.fixture
def run(tmp_path: Path) -> Path:
    state, _ = make_run()
    with Checkpoints(tmp_path / "run" / "checkpoints") as checkpoints:
        for step in (10, 20):
            checkpoints.save(replace(state, step=jnp.int32(step)), {"recipe": "tiny", "seed": 3})
    return tmp_path / "run"


def test_show(barrow: Callable, run: Path) -> None:
    code, out, err = barrow("checkpoint", "show", run)
    assert (code, err) == (0, "")
    assert "step        10" in out
    assert "of step 20: 17 arrays" in out
    assert "recipe: tiny\nseed: 3\n" in out
    row = next(line for line in out.splitlines() if line.startswith("params/layers/mlp/kernel"))
    assert "F32" in row
    assert "[2, 8, 8]" in row
    assert "128" in row
    assert "key<fry>" in out
    assert barrow("checkpoint", "show", run / "checkpoints")[:1] == (0,)
    code, out, _ = barrow("checkpoint", "show", run / "checkpoints" / "step-000000010")
    assert code == 0
    assert "of step 10:" in out


def test_show_json_and_half_a_checkpoint(barrow: Callable, run: Path) -> None:
    (run / "checkpoints" / "step-000000020" / "arrays-00000.safetensors").unlink()
    code, out, _ = barrow("checkpoint", "show", run, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["step"] == 10
    assert told["about"] == {"recipe": "tiny", "seed": 3}
    assert told["leaves"]["params/norm/scale"] == {"dtype": "F32", "shape": [8], "pieces": 1}
    assert [entry["step"] for entry in told["steps"]] == [10, 20]
    assert told["steps"][0]["bytes"] == told["bytes"]
    assert "is missing" in told["steps"][1]["problem"]
    assert "incomplete checkpoint" in barrow("checkpoint", "show", run).out


@pytest.mark.parametrize(
    "verb",
    [
        "score {run} {text} --out {out}",
        "generate {run} --prompt a",
        "serve {run}",
        "export {run} --out {out}.onnx",
        "export {run} --out {out} --to hf",
        "compress {run} --out {out} --calibrate {text}",
        "checkpoint convert {run} --out {out}",
    ],
)
def test_a_model_is_never_silently_that_of_an_earlier_step(
    barrow: Callable, run: Path, tmp_path: Path, verb: str
) -> None:
    (tmp_path / "text.jsonl").write_text('{"text": "a letter", "meta": {}}\n')
    places = {"run": run, "out": tmp_path / "out", "text": tmp_path / "text.jsonl"}
    words = [word.format(**places) for word in verb.split()]
    index = run / "checkpoints" / "step-000000020" / "index.json"
    index.write_bytes(index.read_bytes().replace(b'"seed": 3', b'"seed": 2'))
    code, _, err = barrow(*words)
    assert code == 1
    assert "step-000000020: index.json: its checksum differs" in err
    assert f"the previous one is {index.parent.parent / 'step-000000010'}" in err
    code, _, err = barrow(*words, "--step", 30)
    assert code == 1
    assert "has no checkpoint of step 30; complete ones: 10" in err
    assert not (tmp_path / "out").exists()


def test_a_step_is_chosen(barrow: Callable, run: Path, tmp_path: Path) -> None:
    save_params(run / "checkpoints" / "step-000000005", {"w": jnp.ones(2)})
    assert barrow("checkpoint", "convert", run, "--out", tmp_path / "x", "--step", 5).code == 0
    assert list(load_params(tmp_path / "x")) == ["w"]


def test_show_what_is_none(barrow: Callable, tmp_path: Path) -> None:
    code, out, err = barrow("checkpoint", "show", tmp_path)
    assert (code, out) == (1, "")
    assert "found no complete checkpoint" in err
    code, _, err = barrow("checkpoint", "show", tmp_path / "nothing")
    assert code == 1
    assert "does not exist" in err


def test_diff(barrow: Callable, run: Path, tmp_path: Path) -> None:
    folders = [run / "checkpoints" / f"step-{step:09}" for step in (10, 20)]
    code, out, err = barrow("checkpoint", "diff", *folders)
    assert (code, out, err) == (
        1,
        "step: max 10, relative 1\n1 of 17 arrays differ\n",
        "",
    )
    assert barrow("checkpoint", "diff", run, run) == (0, "0 of 17 arrays differ\n", "")
    save_params(tmp_path / "a", {"w": jnp.ones(2), "x": jnp.ones(3)})
    save_params(tmp_path / "b", {"w": jnp.ones(4), "y": jnp.ones(1)})
    code, out, _ = barrow("checkpoint", "diff", tmp_path / "a", tmp_path / "b")
    assert code == 1
    assert out == (
        "params/w: float32[2] and float32[4]\n"
        "params/x: only in the first, float32[3]\n"
        "params/y: only in the second, float32[1]\n"
        "3 of 3 arrays differ\n"
    )
    code, out, _ = barrow("checkpoint", "diff", *folders, "--json")
    assert json.loads(out) == [
        {"path": "step", "first": "int32[]", "second": "int32[]", "max_abs": 10, "relative": 1}
    ]


def test_diff_with_a_file_of_parameters(barrow: Callable, run: Path, tmp_path: Path) -> None:
    """A state beside a file is compared by parameters, under the same names."""
    file = tmp_path / "x.safetensors"
    barrow("checkpoint", "convert", run, "--out", file, "--to", "safetensors")
    for pair in ((run, file), (file, run), (file, file)):
        assert barrow("checkpoint", "diff", *pair) == (0, "0 of 4 arrays differ\n", "")


@pytest.mark.parametrize("name", ["safetensors", "msgpack"])
def test_convert_there_and_back(barrow: Callable, run: Path, tmp_path: Path, name: str) -> None:
    code, out, err = barrow(
        "checkpoint", "convert", run, "--out", tmp_path / f"x.{name}", "--to", name
    )
    assert (code, err) == (0, "")
    assert out.startswith("4 parameters written to")
    (tmp_path / f"x.{name}").rename(tmp_path / "x")
    code, _, err = barrow("checkpoint", "convert", tmp_path / "x", "--out", tmp_path / "back")
    assert code == 1
    assert "or pass the format" in err
    code, _, err = barrow(
        "checkpoint", "convert", tmp_path / "x", "--out", tmp_path / "back", "--from", name
    )
    assert (code, err) == (0, "")
    back, there = load_params(tmp_path / "back"), load_params(run)
    assert np.array_equal(back["layers"]["mlp"]["kernel"], there["layers"]["mlp"]["kernel"])


def test_convert_refuses_pickled_programs(barrow: Callable, tmp_path: Path) -> None:
    torch.save({"w": torch.ones(1), "f": print}, tmp_path / "x.pt")
    code, _, err = barrow("checkpoint", "convert", tmp_path / "x.pt", "--out", tmp_path / "c")
    assert code == 1
    assert "print" in err
    assert not (tmp_path / "c").exists()
    code, _, err = barrow(
        "checkpoint", "convert", tmp_path / "x.pt", "--out", tmp_path / "c", "--to", "npz"
    )
    assert code == 2
