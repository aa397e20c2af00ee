from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jobs
import pytest

from barrow.engine import Engine, Store, Task, Team, run
from barrow.errors import TaskFailed

INLINE, TWO = Engine(num_workers=0), Engine(num_workers=2)


def spins(num: int, seconds: float = 0.0) -> list[Task]:
    return [
        Task(f"spin {n}", jobs.spin, 1, settings={"seconds": seconds, "n": n}) for n in range(num)
    ]


@pytest.mark.parametrize("engine", [INLINE, Engine(num_workers=1), TWO, Engine(num_workers=5)])
def test_every_task_is_done_once(engine: Engine, tmp_path: Path) -> None:
    store = Store(tmp_path)
    tasks = spins(20)
    told: list[tuple[str, bool]] = []
    run(tasks, store, engine, on_done=lambda task, worked: told.append((task.label, worked)))
    assert sorted(told) == sorted((task.label, True) for task in tasks)
    assert all(store.has(task.key) for task in tasks)
    told.clear()
    run(tasks, store, engine, on_done=lambda task, worked: told.append((task.label, worked)))
    assert told == [(task.label, False) for task in tasks]


@pytest.mark.parametrize("engine", [INLINE, TWO])
def test_a_failure_names_the_task(engine: Engine, tmp_path: Path) -> None:
    store = Store(tmp_path)
    tasks = [*spins(3), Task("the bad one", jobs.fail, 1), *spins(6)[3:]]
    with pytest.raises(TaskFailed, match="the bad one: ValueError: this one cannot be done"):
        run(tasks, store, engine)
    assert not list(tmp_path.rglob("half"))


def pids(store: Store, tasks: list[Task]) -> set[str]:
    return {(store.path(task.key) / "pid").read_text() for task in tasks}


def asking(num: int, stage: int) -> list[Task]:
    return [Task("pid", jobs.tell_pid, 1, settings={"n": n, "stage": stage}) for n in range(num)]


def test_a_team_keeps_its_workers_until_it_fails(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with Team(TWO, store) as team:
        first, second = asking(8, 1), asking(8, 2)
        run(first, store, team)
        run(second, store, team)
        assert pids(store, second) <= pids(store, first)
        assert len(pids(store, first)) <= 2
        with pytest.raises(TaskFailed):
            run([Task("bad", jobs.fail, 1)], store, team)
        third = asking(4, 3)
        run(third, store, team)
        assert pids(store, third).isdisjoint(pids(store, first))
        last = pids(store, third)
    for pid in last:
        assert not Path(f"/proc/{pid}").exists(), "nobody is left behind"


def test_a_team_with_nothing_to_do_starts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    run(spins(2), store, INLINE)
    monkeypatch.setattr(Engine, "workers", lambda *_: pytest.fail("workers were started"))
    with Team(TWO, store) as team:
        run(spins(2), store, team)


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    mark = tmp_path / "mark"
    tasks = [*spins(5), Task("dies once", jobs.die_once, 1, files=(str(mark),)), *spins(9)[5:]]
    run(tasks, store, TWO)
    assert all(store.has(task.key) for task in tasks)


def test_a_task_that_always_kills_its_worker(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(TaskFailed, match=r"deadly: 3 workers died of it \(exit code -9\)"):
        run([Task("deadly", jobs.die, 1)], store, TWO)
    store.clean(set())
    assert not list(tmp_path.rglob("half"))


CODE = """
import sys
sys.path.insert(0, {here!r})
import jobs
from pathlib import Path
from barrow.engine import Engine, Store, Task, run
settings = [{{"seconds": 0.05, "n": n}} for n in range(200)]
tasks = [Task("spin", jobs.spin, 1, settings=each) for each in settings]
if __name__ == "__main__":
    print("go", flush=True)
    run(tasks, Store(Path({store!r})), Engine(num_workers=2))
"""


def start(tmp_path: Path) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(CODE.format(here=str(Path(__file__).parent), store=str(tmp_path / "store")))
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and num_done(tmp_path) < 3:
        time.sleep(0.02)
    return process


def num_done(tmp_path: Path) -> int:
    """Results in the store; folders with a dot are not done yet."""
    return len(list(tmp_path.glob("store/*/[!.]*/done")))


def processes_of_group(group: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_and_started_again(how: signal.Signals, tmp_path: Path) -> None:
    process = start(tmp_path)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    process.communicate(timeout=300)
    deadline = time.monotonic() + 120
    while processes_of_group(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of_group(process.pid) == [], "no worker outlives its parent"
    assert 3 <= num_done(tmp_path) < 200
    store = Store(tmp_path / "store")
    worked: list[bool] = []
    tasks = [Task("s", jobs.spin, 1, settings={"seconds": 0.05, "n": n}) for n in range(20)]
    finished = sum(store.has(task.key) for task in tasks)
    run(tasks, store, TWO, on_done=lambda task, did: worked.append(did))
    assert worked.count(False) == finished, "what was finished is not done again"
