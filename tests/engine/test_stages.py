from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jobs
import pytest
from tests.interrupted import dropped

from barrow.engine import Engine, File, Progress, Stages, StageTime, Store, Task
from barrow.errors import TaskFailed

INLINE, TWO = Engine(num_workers=0), Engine(num_workers=2)


@pytest.mark.parametrize("engine", [INLINE, Engine(num_workers=1), TWO, Engine(num_workers=5)])
def test_every_task_is_done_once(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    tasks = jobs.spins(20)
    plans: list[tuple[str, int]] = []
    done: list[int] = []
    progress = Progress(lambda what, total: plans.append((what, total)), done.append)
    results = jobs.run([*tasks, tasks[0]], store, engine, progress)
    assert [result.text.path.read_text() for result in results] == [*map(str, range(20)), "0"]
    assert (plans, sum(done)) == ([("stage", 20)], 20)
    monkeypatch.setattr(Engine, "workers", lambda *_: pytest.fail("workers were started"))
    assert jobs.run(tasks, store, engine, progress) == results[:20], "there is nothing to do"
    assert sum(done) == 40


@pytest.mark.parametrize("engine", [INLINE, TWO])
def test_what_stages_take(engine: Engine, tmp_path: Path) -> None:
    """Wall and CPU seconds, tasks and bytes of what was done now; the rest is from the cache."""
    said: list[StageTime] = []
    some = [jobs.BURN.task(f"{n}", jobs.Spin(n, 0.02), None, size=1000) for n in range(6)]
    with Stages(Store(tmp_path), engine, Progress(on_end=said.append)) as stages:
        stages.run("first", some[:2])
        stages.run("second", [*some, some[0]])
        stages.run("third", some)
    assert stages.times == said
    assert [(t.stage, t.tasks, t.from_cache, t.bytes) for t in said] == [
        ("first", 2, 0, 2000),
        ("second", 6, 2, 4000),
        ("third", 6, 6, 0),
    ]
    # Each task takes 0.02 s of its process's time.
    assert 4 * 0.02 <= said[1].cpu_seconds < 4
    assert said[1].seconds >= 4 * 0.02 / max(1, engine.num_workers)
    assert said[2].cpu_seconds == 0
    assert (said[1].is_measured, said[2].is_measured) == (True, False)
    assert StageTime("x", 1, 0, 3_000_000, 2.0, 1.0).rate == 1.5


@pytest.mark.parametrize("engine", [INLINE, TWO])
def test_a_failure_names_the_task(engine: Engine, tmp_path: Path) -> None:
    tasks = [*jobs.spins(3), jobs.failing("the bad one"), *jobs.spins(6)[3:]]
    with pytest.raises(TaskFailed, match="the bad one: ValueError: this one cannot be done"):
        jobs.run(tasks, Store(tmp_path), engine)
    assert not list(tmp_path.rglob("half"))


def test_workers_stay_until_one_fails(tmp_path: Path) -> None:
    with Stages(Store(tmp_path), TWO) as stages:

        def pids(num: int, stage: int) -> set[str]:
            asking = [jobs.TELL_PID.task("pid", jobs.Spin(n, stage), None) for n in range(num)]
            return {result.text.path.read_text() for result in stages.run("pids", asking)}

        first = pids(8, 1)
        assert len(first) <= 2
        assert pids(8, 2) <= first
        with pytest.raises(TaskFailed):
            stages.run("bad", [jobs.failing()])
        last = pids(4, 3)
        assert last.isdisjoint(first)
    for pid in last:
        assert not Path(f"/proc/{pid}").exists(), "nobody is left"


def test_what_other_stages_left_goes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old, new = jobs.spins(2)
    jobs.run([old], store, INLINE)
    with Stages(store, INLINE) as stages:
        stages.run("new", [new])
    stages.clean()
    assert [store.has(task.key) for task in (old, new)] == [False, True]


@pytest.mark.parametrize(
    ("workers", "sizes", "threads"),
    [(1, [5], [1]), (3, [5], [3]), (2, [97, 1, 2], [2, 1, 1]), (2, [1, 1, 1], [1, 1, 1])],
)
def test_a_large_task_may_use_the_threads_of_idle_workers(
    tmp_path: Path, workers: int, sizes: list[int], threads: list[int]
) -> None:
    tasks = [
        jobs.TELL_THREADS.task("t", jobs.Spin(n), None, size=size) for n, size in enumerate(sizes)
    ]
    results = jobs.run(tasks, Store(tmp_path), Engine(num_workers=workers))
    assert [int(result.text.path.read_text()) for result in results] == threads


def copying(prefix: str, *files: File) -> Task[jobs.Counted]:
    return jobs.COPY.task(prefix, jobs.Upper(prefix), jobs.Inputs(files), size=5)


@pytest.mark.parametrize("engine", [INLINE, TWO])
def test_temporary_files_go_and_are_written_again_for_whom_needs_them(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, store = File(tmp_path / "in.txt", "in"), Store(tmp_path / "store")
    source.path.write_text("abc")
    plans: list[tuple[str, int]] = []
    done: list[int] = []
    progress = Progress(lambda what, total: plans.append((what, total)), done.append)

    def build(last: str, engine: Engine) -> str:
        with Stages(store, engine, progress) as stages:
            (one,) = stages.run("one", [copying("1", source)])
            (two,) = stages.run("two", [copying("2", one.text)])
            (end,) = stages.run("end", [jobs.COPY_UPPER.task("u", jobs.Upper(last), two_of(two))])
        stages.clean()
        assert one.size.path.read_text() + two.size.path.read_text() == "45"
        assert not one.text.path.exists()
        assert not two.text.path.exists()
        return end.text.path.read_text()

    assert build("x", engine) == "x21ABC"
    assert build("y", engine) == "y21ABC"
    again = [("one", 5), ("two", 5), ("one again", 5), ("two again", 5), ("end", 1)]
    assert plans[3:] == again
    assert sum(done) == sum(size for _, size in plans)
    monkeypatch.setattr(Engine, "workers", lambda *_: pytest.fail("workers were started"))
    source.path.unlink()
    assert build("y", engine) == "y21ABC", "nothing changed, so nothing is needed"


def two_of(result: jobs.Counted) -> jobs.Inputs:
    return jobs.Inputs((result.text,))


def test_what_is_written_again_must_be_as_before(tmp_path: Path) -> None:
    source, store = File(tmp_path / "in.txt", "in"), Store(tmp_path / "store")
    source.path.write_text("abc")
    with Stages(store, INLINE) as stages:
        (one,) = stages.run("one", [copying("1", source)])
        stages.clean()
        source.path.write_text("changed, although it has the same name")
        with pytest.raises(TaskFailed, match=r"1: .*was written again and is not as it was"):
            stages.run("two", [copying("2", one.text)])
    assert not one.text.path.exists()
    assert one.size.path.read_text() == "4"


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    tasks = [*jobs.spins(5), jobs.dying_once(tmp_path / "mark"), *jobs.spins(9)[5:]]
    jobs.run(tasks, store, TWO)
    assert all(store.has(task.key) for task in tasks)


def test_a_task_that_always_kills_its_worker(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(TaskFailed, match=r"deadly: 3 workers died on it \(exit code -9\)"):
        jobs.run([jobs.DIE.task("deadly", None, None)], store, TWO)
    store.clean(set())
    assert not list(tmp_path.rglob("half"))


CODE = """
import sys
sys.path.insert(0, {here!r})
import jobs
from pathlib import Path
from barrow.engine import Engine, Store
if __name__ == "__main__":
    print("go", flush=True)
    jobs.run(jobs.spins(200, 0.05), Store(Path({store!r})), Engine(num_workers=2))
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
    return len(list(tmp_path.glob("store/*/[!.]*/result.txt")))


@pytest.mark.parametrize("engine", [INLINE, pytest.param(TWO, marks=pytest.mark.soak)])
def test_a_dropped_ctrl_c_stops_after_the_task(engine: Engine, tmp_path: Path) -> None:
    store, done = Store(tmp_path), []

    def on_bytes(size: int) -> None:
        done.append(size)
        if len(done) == 2:
            dropped()

    with pytest.raises(KeyboardInterrupt):
        jobs.run(jobs.spins(20), store, engine, Progress(on_bytes=on_bytes))
    assert len(done) == 2
    jobs.run(jobs.spins(20), store, INLINE, Progress(on_bytes=done.append))
    assert len(done) == 2 + 20


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
    tasks = jobs.spins(20, 0.05)
    finished = {
        task.key: store.path(task.key).stat().st_ino for task in tasks if store.has(task.key)
    }
    jobs.run(tasks, store, TWO)
    assert all(store.has(task.key) for task in tasks)
    for key, inode in finished.items():
        assert store.path(key).stat().st_ino == inode, "what was finished is not done again"
