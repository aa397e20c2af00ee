from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import logging, sys
import jax, jax.numpy as jnp
from barrow.models.compile_cache import keep_compiled
keep_compiled(sys.argv[1])
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
print(jax.jit(lambda x: jnp.sin(x) @ x.T)(jnp.ones((4, 4))).sum())
print(sum(event.endswith("compilation_cache/cache_hits") for event in hits))
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0]
    assert runs[0][1] == "0"
    assert int(runs[1][1]) >= 1
    assert list(folder.iterdir())
