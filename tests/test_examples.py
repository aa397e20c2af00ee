"""Every example runs, by itself, as the documentation shows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.parallel.several_processes import xla_flags

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    devices = 4 if "device_count=4" in path.read_text() else 1
    run = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "XLA_FLAGS": xla_flags(devices)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert run.stderr == ""
