"""What open_clip makes of things, by `clip_reference.py`; and parameters without compiling."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from barrow import nn

SCRIPT = Path(__file__).with_name("clip_reference.py")


def reference(*arguments: object) -> None:
    """Run the script in a process of its own."""
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def random_params(module: nn.Module, *args: Any) -> nn.Tree:
    """Numbers of NumPy's for every parameter: JAX compiles nothing, and no bias is zero."""
    rng = np.random.default_rng(0)
    specs = nn.describe(module, *args)
    return nn.from_paths(
        {p: (0.3 * rng.normal(size=s.shape)).astype(np.float32) for p, s in specs.items()}
    )


def begins(module: nn.Module, path: str, *args: Any) -> Any:
    """What a parameter begins as: an initialiser."""
    return nn.describe(module, *args)[path].init


def arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file."""
    with np.load(path) as held:
        return dict(held)
