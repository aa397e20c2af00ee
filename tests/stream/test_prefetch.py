from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barrow.stream.prefetch import Prefetch


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("barrow-prefetch")]


def square(step: int) -> int:
    return step * step


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("depth", [1, 4])
def test_in_order(num_threads: int, depth: int) -> None:
    def uneven(step: int) -> int:
        time.sleep(0.002 * (step % 3))
        return step * step

    with Prefetch(uneven, start=5, stop=30, depth=depth, threads=num_threads) as ahead:
        assert list(ahead) == [(step, step * step) for step in range(5, 30)]
    assert not threads()


def test_runs_ahead_so_far_and_no_further() -> None:
    made: list[int] = []
    enough = threading.Event()

    def note(step: int) -> int:
        made.append(step)
        if len(made) == 4:
            enough.set()
        return step

    with Prefetch(note, depth=3) as ahead:
        assert next(ahead) == (0, 0)
        assert enough.wait(10)
        time.sleep(0.05)
        assert made == [0, 1, 2, 3]


def test_threads_work_side_by_side() -> None:
    together = threading.Barrier(3)

    def meet(step: int) -> int:
        together.wait(10)
        return step

    with Prefetch(meet, stop=3, depth=3, threads=3) as ahead:
        assert [step for step, _ in ahead] == [0, 1, 2]


def test_an_exception_reaches_the_consumer_at_its_step() -> None:
    def fail(step: int) -> int:
        if step == 3:
            raise OSError("the disk is gone")
        return step

    ahead = Prefetch(fail, depth=2)
    assert [next(ahead)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    assert not threads()
    with pytest.raises(StopIteration):
        next(ahead)


def test_a_stray_stop_iteration_does_not_look_like_the_end() -> None:
    with pytest.raises(RuntimeError, match="making step 0 raised StopIteration"):
        list(Prefetch(lambda step: next(iter([]))))


def test_leaving_the_loop_leaves_no_thread() -> None:
    for step, _ in Prefetch(square, depth=4, threads=2):
        if step == 2:
            break
    assert not threads()
    with pytest.raises(ValueError, match="mine"), Prefetch(square, threads=2, depth=2) as ahead:
        next(ahead)
        raise ValueError("mine")
    assert not threads()


def test_garbage_leaves_no_thread() -> None:
    ahead = Prefetch(square, depth=4, threads=2)
    next(ahead)
    ring = [ahead]
    ring.append(ring)  # type: ignore[arg-type]
    del ahead, ring
    gc.collect()
    for _ in range(100):
        if not threads():
            break
        time.sleep(0.01)
    assert not threads()


def test_closed_is_at_its_end() -> None:
    ahead = Prefetch(square)
    ahead.close()
    ahead.close()
    assert list(ahead) == []
    assert list(Prefetch(square, start=3, stop=3)) == []


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="there is no step -1"):
        Prefetch(square, start=-1)
    with pytest.raises(ValueError, match="at least 1, not 0 and 1"):
        Prefetch(square, depth=0)


PROGRAM = """
import sys, threading, time
from barrow.stream.prefetch import Prefetch
ahead = Prefetch(lambda step: bytes(10_000_000), depth=8, threads=3)
print("ready", flush=True)
try:
    for step, _ in ahead:
        {inside}
except KeyboardInterrupt:
    del ahead
    print([t.name for t in threading.enumerate()], flush=True)
    sys.exit(3)
"""


@pytest.fixture
def start() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start the program; whatever happens, it does not outlive the test."""
    started: list[subprocess.Popen[str]] = []
    yield lambda inside: started.append(_start(inside)) or started[-1]
    for process in started:
        process.kill()
        process.communicate()


def _start(inside: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(inside=inside)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm")) if Path("/dev/shm").is_dir() else set()


@pytest.mark.parametrize("inside", ["pass", "time.sleep(60)"])
def test_interrupted(inside: str, start: Callable[[str], subprocess.Popen[str]]) -> None:
    """Ctrl-C ends it at once, with no thread left."""
    process = start(inside)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (3, "")
    assert out == "['MainThread']\n"


def test_killed(start: Callable[[str], subprocess.Popen[str]]) -> None:
    """After kill −9 nothing is left: no process, no shared memory, no file."""
    before = shared_memory()
    process = start("pass")
    time.sleep(0.1)
    process.kill()
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    children = subprocess.run(
        ["ps", "--ppid", str(process.pid), "-o", "pid="],
        capture_output=True,
        text=True,
        check=False,
    )
    assert children.stdout.strip() == ""
    assert not {name for name in shared_memory() - before if "barrow" in name}


def test_a_program_may_end_in_the_middle(
    start: Callable[[str], subprocess.Popen[str]],
) -> None:
    process = start("sys.exit(0)")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")
