"""A planted leak is named by shape and by the line that made it (ACCELERATE-7)."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.train.profile.leaks import Leaks


def line_of(function: Any, words: str) -> str:
    lines, first = inspect.getsourcelines(function)
    number = next(first + k for k, line in enumerate(lines) if words in line)
    return f"{__file__}:{number}"


def looks(leaks: Leaks, work: Any, num: int) -> list[tuple[int, str]]:
    """Steps and leaks."""
    found = []
    for step in range(num):
        work(step)
        found += [(step, leak) for leak in leaks.look(step)]
    return found


def test_arrays_that_are_kept() -> None:
    kept: list[Any] = []
    same = jnp.zeros((300, 300))

    def work(step: int) -> None:
        nonlocal same
        same = same + 1  # replaced: the same number is alive
        kept.append(jnp.full((127, 131), step, jnp.float32))
        kept.append(jnp.float32(step))  # a loss: too small to matter

    ((step, words),) = looks(Leaks(), work, 12)
    assert step == 5
    assert "float32[127,131], 6 of which are alive" in words
    assert "from step 0 to 5" in words
    assert f"made at {line_of(test_arrays_that_are_kept, 'jnp.full(')}" in words
    assert f"{5 * 127 * 131 * 4 / 2**20:.1f} MiB more" in words


def test_what_grows_for_a_while_is_no_leak() -> None:
    kept: list[Any] = []

    def work(step: int) -> None:
        if step % 5:
            kept.append(jnp.full((127, 133), step, jnp.float32))

    assert looks(Leaks(), work, 15) == []


def test_memory_of_the_host_where_python_traces_it() -> None:
    kept: list[Any] = []

    def work(step: int) -> None:
        kept.append(np.full(1 << 16, step, np.float32))

    assert looks(Leaks(), work, 8) == []
    tracemalloc.start(5)
    try:
        ((_, words),) = looks(Leaks(), work, 8)
    finally:
        tracemalloc.stop()
    assert "memory of the host" in words
    assert line_of(test_memory_of_the_host_where_python_traces_it, "np.full(") in words
