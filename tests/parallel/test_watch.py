"""A collective that only some processes reach is an error; a slow one is not (ACCELERATE-15)."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from barrow.parallel import watch
from barrow.parallel.watch import Record, verdict

STEPS = {"4": "step 3", "5": "step 4"}
IN = Record("in", "step 4", "a.py:7", 5, 9, 600.0, STEPS)
AFTER = Record("outside", "", "a.py:9", 4, 8, 20.0, {"4": "step 3"})


@pytest.mark.parametrize(
    ("other", "age", "words"),
    [
        (AFTER, 25, "process 1 is outside of any call, after step 3, at a.py:9, for 25 s"),
        (AFTER, 5, None),
        (
            replace(AFTER, state="finished", site=""),
            25,
            "process 1 has finished, after step 3, for",
        ),
        (replace(AFTER, state="busy", name="saving", limit=600.0), 300, None),
        (replace(AFTER, state="busy", name="saving", limit=600.0), 601, "is busy with saving"),
        (replace(AFTER, state="compiling", limit=math.inf), 3000, None),
        (Record(), 300, None),
        (Record(), 601, "process 1 has not reached a call, for 601 s"),
        # In the same call, however long, or ahead of this one, which then is the slow one.
        (IN, 3000, None),
        (replace(IN, state="outside", limit=20.0), 3000, None),
        # In an earlier call: slow, up to a limit.
        (replace(IN, name="step 3", calls=4, recent={"4": "step 3"}), 300, None),
        (replace(IN, name="step 3", calls=4, recent={"4": "step 3"}), 601, "waits in step 3"),
        # In another call of the same number, or of an earlier one.
        (
            replace(IN, name="gather", recent=STEPS | {"5": "gather"}),
            25,
            "process 1 waits in gather",
        ),
        (replace(IN, recent=STEPS | {"4": "gather"}), 25, "process 1 waits in step 4"),
    ],
)
def test_verdict(other: Record, age: float, words: str | None) -> None:
    found = verdict([IN, other], [3000.0, age], apart=20.0)
    if words is None:
        assert found is None
    else:
        assert found is not None
        assert words in found
        assert "process 0 waits in step 4, at a.py:7, for 3000 s" in found
    # Nobody waits, or not for long: no matter what the other does.
    assert verdict([AFTER, other], [3000.0, 0.0], apart=20.0) is None
    assert verdict([IN, other], [1.0, age], apart=20.0) is None


def test_one_process_is_not_watched() -> None:
    with watch.call("step", step=1), watch.busy("loading"):
        assert watch._running is None


SCRIPT = """
import sys, time
from barrow.launch import join
world = join()
import jax
import jax.numpy as jnp
from barrow.parallel import watch
from jax.experimental.multihost_utils import process_allgather
watch.begin(watch.Limits(apart=0.2, nap=0.01))

def take_long():
    end = watch._running.ticks + 60
    while watch._running.ticks < end:
        time.sleep(0.01)

def sum_up(step):
    with watch.call("sum", step=step):
        return int(process_allgather(jnp.array([1])).sum())

sum_up(0)
if world.process == 1:
    with watch.busy("saving"):
        take_long()
sum_up(1)
if world.process == 1:
    jax.jit(lambda x: (take_long(), x)[1])(1)  # tracing takes long
sum_up(2)
print("so far", file=sys.stderr)
if world.process == 0:
    sum_up(3)
else:
    while True:
        time.sleep(0.01)
"""


def test_two_processes(tmp_path: Path) -> None:
    """One saves and compiles for longer than the limit; then one does not come."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "barrow", "launch", "-n", "2", "script.py"],
        cwd=tmp_path,
        env=os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("so far") == 2, done.stderr
    found = done.stderr[done.stderr.index("barrow: some processes wait in a call") :]
    lines = SCRIPT.splitlines()
    inside = lines.index('    with watch.call("sum", step=step):') + 1
    assert f"\n  process 0 waits in sum 3, at script.py:{inside}, for" in found
    outside = f"process 1 is outside of any call, after sum 2, at script.py:{len(lines)}, for"
    assert outside in found
