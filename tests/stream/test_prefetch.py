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

from barrow.ahead import _RUNNING
from barrow.stream.prefetch import Prefetch


def threads() -> tuple[int, ...]:
    return tuple(_RUNNING)


def square(step: int) -> int:
    return step * step


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("depth", [1, 4])
def test_in_order(num_threads: int, depth: int) -> None:
    with Prefetch(square, start=5, stop=30, depth=depth, threads=num_threads) as ahead:
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
        assert enough.wait(30)
        assert ahead._ahead._work.tasks.empty()  # nothing else was asked for
    assert made == [0, 1, 2, 3]


def test_threads_work_side_by_side() -> None:
    together = threading.Barrier(3)

    def meet(step: int) -> int:
        together.wait(30)
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
    with pytest.raises(RuntimeError, match="item 0 raised StopIteration"):
        list(Prefetch(lambda step: next(iter([]))))


def ended() -> None:
    """Return when all threads have ended; the time limit of tests is the watchdog."""
    while threads():
        time.sleep(0)


def test_leaving_the_loop_leaves_no_thread() -> None:
    for step, _ in Prefetch(square, depth=4, threads=2):
        if step == 2:
            break
    ended()
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
    ended()


def test_closed_is_at_its_end() -> None:
    ahead = Prefetch(square)
    ahead.close()
    ahead.close()
    assert list(ahead) == []
    assert list(Prefetch(square, start=3, stop=3)) == []


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="start must be ≥ 0, got -1"):
        Prefetch(square, start=-1)
    with pytest.raises(ValueError, match="must be ≥ 1, got 0 and 1"):
        Prefetch(square, depth=0)


@pytest.fixture
def start() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start a program; whatever happens, it does not outlive the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(program: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


# The parent waits for "ready": three batches were taken, and others are in the making.
PROGRAM = """
import signal, sys
from barrow.ahead import _RUNNING
from barrow.stream.prefetch import Prefetch
try:
    with Prefetch(lambda step: bytes(1_000_000), depth=8, threads=3) as ahead:
        for step, _ in ahead:
            if step == 3:
                print("ready", flush=True)
                {then}
except KeyboardInterrupt:
    print(len(_RUNNING), flush=True)
    sys.exit(3)
"""


def shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm")) if Path("/dev/shm").is_dir() else set()


@pytest.mark.parametrize("then", ["pass", "signal.pause()"])
def test_interrupted(then: str, start: Callable[[str], subprocess.Popen[str]]) -> None:
    """Ctrl-C ends it, with no thread left, whether the consumer takes batches or does not."""
    process = start(PROGRAM.format(then=then))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (3, "0\n", "")


EVERYWHERE = """
from interrupted import at_every_instruction
from barrow.stream.prefetch import Prefetch
def scenario():
    with Prefetch(lambda step: step, stop=4, depth=2, threads=2) as ahead:
        for step, _ in ahead:
            pass
print(at_every_instruction(scenario))
"""


def test_ctrl_c_at_any_instruction_neither_hangs_nor_leaves_a_thread(
    start: Callable[[str], subprocess.Popen[str]],
) -> None:
    """A lock taken where the interrupt falls would stay locked, and the threads would wait."""
    out, err = start(EVERYWHERE).communicate()
    assert err == ""
    assert int(out) > 300


SIGNALS = """
from interrupted import by_signals
from barrow.stream.prefetch import Prefetch
def scenario():
    with Prefetch(lambda step: bytes(1000), depth=4, threads=3) as ahead:
        for step, _ in ahead:
            if step == 5:
                break
by_signals({count}, scenario)
"""


@pytest.mark.parametrize("count", [50, pytest.param(500, marks=pytest.mark.soak)])
def test_interrupted_starts(count: int, start: Callable[[str], subprocess.Popen[str]]) -> None:
    """Ctrl-C from another process, while prefetching starts, runs and ends; none hangs."""
    process = start(SIGNALS.format(count=count))
    assert process.stdout is not None
    sent = 0
    while process.stdout.readline() == "ready\n":
        process.send_signal(signal.SIGINT)
        sent += 1
    _, err = process.communicate()
    assert (process.returncode, err, sent) == (0, "", count)


def test_killed(start: Callable[[str], subprocess.Popen[str]]) -> None:
    """After kill −9 nothing is left: no process, no shared memory, no file."""
    before = shared_memory()
    process = start(PROGRAM.format(then="pass"))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate()
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
    process = start(PROGRAM.format(then="sys.exit(0)"))
    assert (*process.communicate(), process.returncode) == ("ready\n", "", 0)
