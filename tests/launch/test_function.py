"""A function in processes, from a notebook that has used devices (ACCELERATE-6, ACCELERATE-15)."""

from __future__ import annotations

import os
from pathlib import Path

import nbclient
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import barrow
from barrow.errors import ConfigError

CELLS = (
    "import barrow, jax, jax.numpy as jnp\nbase = 40\nprint(float(jnp.ones(2).sum()))",
    """
def add(step):  # uses a global and closes over an argument
    def inside(fails):
        from jax.experimental.multihost_utils import process_allgather
        print("in", jax.process_index())
        total = int(process_allgather(jnp.array([base + step])).sum())
        if fails and jax.process_index() == 1:
            raise ValueError(f"planted {total}")
        return jax.process_index(), total
    return inside
""",
    "print(barrow.launch(add(2), False, n=2))",
    "barrow.launch(add(3), True, n=2)",
)


def test_an_executed_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in CELLS])
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", allow_errors=True
    )
    client.execute(cwd=str(tmp_path))
    used, _, good, bad = (cell.outputs for cell in notebook.cells)
    assert text_of(used) == "2.0\n"
    said = text_of(good).splitlines()
    assert {"in 0", "[1] in 1", "[(0, 84), (1, 84)]"} <= set(said)
    said = text_of(bad).splitlines()
    begin = said.index("[1] Traceback (most recent call last):")
    assert said[begin + 2].startswith("[1]     raise ValueError(f")  # a line of the cell
    assert "[1] ValueError: planted 86" in said
    error = bad[-1]
    assert (error["output_type"], error["ename"]) == ("error", "Failed")
    assert error["evalue"].startswith("process 1 of 2 failed with exit code 1")
    nbformat.validate(notebook)


def text_of(outputs: list[nbformat.NotebookNode]) -> str:
    return "".join(output.text for output in outputs if output.output_type == "stream")


def test_bad_input() -> None:
    with pytest.raises(ConfigError, match="-n must be ≥ 1, got 0"):
        barrow.launch(os.getcwd, n=0)
