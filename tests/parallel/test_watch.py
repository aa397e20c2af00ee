"""A collective that only some processes reach is an error; a slow one is not (ACCELERATE-15)."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from barrow.errors import ConfigError
from barrow.parallel import watch
from barrow.parallel.watch import Record, verdict

STEPS = {"4": "step 3", "5": "step 4"}
IN = Record("in", "step 4", "a.py:7", 5, 3000.0, 600.0, STEPS)
AFTER = Record("outside", "", "a.py:9", 4, 0.0, 20.0, {"4": "step 3"})


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
    other = replace(other, age=age)
    found = verdict([IN, other], apart=20.0)
    if words is None:
        assert found is None
    else:
        assert found is not None
        assert words in found
        assert "process 0 waits in step 4, at a.py:7, for 3000 s" in found
    # The same if the first is not in the call any more, but waits for what it gives.
    assert bool(verdict([replace(IN, state="waits"), other], apart=20.0)) == bool(words)
    # Nobody waits, or not for long: no matter what the other does.
    assert verdict([replace(AFTER, age=3000.0), replace(other, age=0.0)], apart=20.0) is None
    assert verdict([replace(IN, age=1.0), other], apart=20.0) is None


def test_one_process_is_not_watched() -> None:
    with watch.call("step", step=1), watch.busy("loading"):
        assert watch._running is None


class Store:
    """What a process posts."""

    def key_value_set(self, key: str, value: str, *, allow_overwrite: bool) -> None:
        self.last = Record(**json.loads(value))


def test_where_a_thread_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of calls it may wait for devices, compile, or do something else."""
    now = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    store, begun, ended = Store(), threading.Event(), threading.Event()
    lock = threading.Lock()
    here = watch._Watch(store, 0, 2, watch.Limits())
    here.post()
    assert store.last.state == "starting"
    with here.at("in", "step 1", 600.0, "a.py:3"):
        here.post()
        found = replace(store.last, age=0.0)
        assert found == Record("in", "step 1", "a.py:3", 1, 0.0, 600.0, {"1": "step 1"})
        with here.at("in", "gather", 600.0, "a.py:4"):
            here.post()
            assert (store.last.name, store.last.calls) == ("gather of step 1", 2)
    # A generator that is closed late leaves its own call.
    late = here.at("in", "batch 1", 600.0, "")
    late.__enter__()
    with here.at("busy", "loading", 600.0, ""):
        late.__exit__(None, None, None)
        assert [name for _, name, *_ in here.stack] == ["loading"]

    def wait(x: Any) -> Any:
        begun.set()
        ended.wait()
        return x

    def look(run: Callable[[Any], Any], end: Callable[[], object] = ended.set) -> Record:
        thread = threading.Thread(target=run, args=(np.float32(1),))
        thread.start()
        begun.wait()
        here.thread = thread.ident or 0
        here.post()
        end()
        thread.join()
        begun.clear()
        ended.clear()
        return store.last

    # As in JAX: Python code there that waits in C.
    waits = compile("begun.set(); lock.acquire()", f"{Path(jax.__file__).parent}/a.py", "exec")
    with lock:
        found = look(lambda x: exec(waits, {"begun": begun, "lock": lock}), end=lock.release)
    assert (found.state, found.calls, found.limit) == ("waits", 3, 600.0)
    assert look(lambda x: jax.jit(lambda y: wait(y))(x)).state == "compiling"
    now[0] += 300.0
    found = look(wait)
    assert (found.state, found.limit, found.age) == ("outside", 20.0, 0.0)  # since it compiled
    now[0] += 30.0
    assert look(wait).age == 30.0
    assert found.site.startswith(f"{__file__}:")


def test_a_limit_that_is_not_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src import distributed

    monkeypatch.setattr(distributed.global_state, "client", object())
    monkeypatch.setattr(distributed.global_state, "num_processes", 2)
    monkeypatch.setenv("BARROW_WATCH", "soon")
    with pytest.raises(ConfigError, match="BARROW_WATCH must be seconds ≥ 0, got 'soon'"):
        watch.begin()


SCRIPT = """
import sys, time
from barrow.launch import join
world = join()
import jax
import jax.numpy as jnp
from barrow.errors import ConfigError
from barrow.parallel import watch
from jax.experimental.multihost_utils import process_allgather
watch.begin(watch.Limits(apart=0.8, nap=0.02))

def take_long():
    here, begun = watch._running, watch._running.ticks + 2
    while here.ticks < begun or time.monotonic() - here.since[1] < 2:
        time.sleep(0.02)

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
    assert "Traceback" not in found  # of those who lost the others
