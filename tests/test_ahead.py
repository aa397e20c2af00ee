from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barrow.ahead import _RUNNING, Ahead, available_cores, map_ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int) -> None:
    """Each even number is finished only after the odd one that follows it."""
    done = [threading.Event() for _ in range(51)]

    def odd_first(n: int) -> int:
        if n % 2 == 0 and threads > 1:
            assert done[n + 1].wait(30)
        done[n].set()
        return n * n

    done[50].set()
    squares = [n * n for n in range(50)]
    assert list(map_ahead(odd_first, range(50), threads=threads)) == squares


@pytest.mark.parametrize("threads", [1, 3])
def test_items_are_not_all_fetched_at_once(threads: int) -> None:
    fetched = 0

    def items() -> Iterator[int]:
        nonlocal fetched
        for n in range(1000):
            fetched += 1
            yield n

    results = map_ahead(lambda n: n, items(), threads=threads)
    next(results)
    assert fetched <= threads + 2


def test_depth_is_how_many_results_wait() -> None:
    calls: list[int] = []
    results = map_ahead(calls.append, iter(range(1000)), threads=2, depth=20)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(calls) <= 21


def test_an_error_arrives_in_its_place_and_the_threads_end() -> None:
    def fail_at_five(n: int) -> int:
        if n == 5:
            raise ValueError("five")
        return n

    results = map_ahead(fail_at_five, range(100), threads=4)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(results)
    assert not _RUNNING


def test_leaving_early_ends_the_threads() -> None:
    results = map_ahead(lambda n: n, range(100), threads=4)
    next(results)
    assert len(_RUNNING) == 4
    results.close()  # type: ignore[attr-defined]
    assert not _RUNNING


def test_closing_drops_what_waits_and_wakes_who_waits() -> None:
    """Results that nobody took do not stay in memory, and a thread that waits for one goes on."""
    go = threading.Event()

    def wait(n: int) -> int:
        assert go.wait(30)
        return n

    ahead = Ahead(wait, threads=1)
    ahead.put(0)
    waiter = threading.Thread(target=lambda: list(ahead))
    waiter.start()
    ahead._work.end()
    go.set()
    ahead.close()
    waiter.join(30)
    assert not waiter.is_alive()
    assert list(ahead) == []
    assert not ahead._waiting
    ahead.close()


def test_a_fork_waits_for_no_thread_of_its_parent() -> None:
    ahead = Ahead(lambda n: n, threads=2)
    ahead.put(0)
    if not (child := os.fork()):
        signal.alarm(60)
        ahead.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ahead.close()


def test_there_is_a_core() -> None:
    assert available_cores() >= 1


def run(program: str) -> str:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_ctrl_c_at_any_instruction_neither_hangs_nor_leaves_a_thread() -> None:
    program = """
from interrupted import at_every_instruction
from barrow.ahead import map_ahead
print(at_every_instruction(lambda: list(map_ahead(str, [1, 2, 3], threads=2))))
"""
    assert int(run(program)) > 200


def test_the_exit_waits_for_threads_at_work() -> None:
    program = """
import atexit, threading
from barrow.ahead import Ahead
begun, exits = threading.Event(), threading.Event()
def work(n):
    begun.set()
    exits.wait()
    for i in range(200_000):
        pass
    print("worked")
ahead = Ahead(work, threads=1)
ahead.put(0)
begun.wait()
atexit.register(exits.set)  # which is called before what was registered before it
"""
    assert run(program) == "worked\n"
