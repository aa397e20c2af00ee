from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from barrow.malloc import keep_freed_memory

# Page faults of ten calls of a program with 64 MB in between, warmed up.
PROGRAM = """
import resource, sys
from barrow.malloc import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
import jax, jax.numpy as jnp
def program(x):
    y = jax.lax.optimization_barrier(jnp.outer(x, x))
    return (y @ x).sum()
run, x = jax.jit(program), jnp.ones(4096)
for _ in range(20):
    run(x).block_until_ready()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    run(x).block_until_ready()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(kind: str) -> int:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_", "XLA_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind],
        env=env | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_freed_memory_is_used_again() -> None:
    if platform.libc_ver()[0] != "glibc":
        assert not keep_freed_memory()
        return
    assert faults("kept") < faults("as it comes") / 2


def test_an_environment_that_has_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    assert not keep_freed_memory()
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    assert not keep_freed_memory()


def test_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("barrow.malloc.ctypes.CDLL", lambda name: object())
    assert not keep_freed_memory()
