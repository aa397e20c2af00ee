from __future__ import annotations

import sys
from pathlib import Path

import jobs
import pytest

from barrow.engine import Engine, Store, Task, run
from barrow.errors import MissingExtra, TaskFailed


@pytest.fixture(scope="module")
def cluster():
    import ray

    here = str(Path(__file__).parent)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": here}},
    )
    yield Engine(name="ray", num_workers=2)
    ray.shutdown()


def test_the_same_results_as_local_processes(cluster: Engine, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("abc")
    tasks = [
        Task(f"{n}", jobs.copy_upper, 1, settings={"prefix": str(n)}, files=(str(source),))
        for n in range(6)
    ]
    stores = [Store(tmp_path / "ray"), Store(tmp_path / "local")]
    run(tasks, stores[0], cluster)
    run(tasks, stores[1], Engine(num_workers=2))
    contents = [
        {p.relative_to(s.folder): p.read_bytes() for p in s.folder.rglob("*") if p.is_file()}
        for s in stores
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == 6


def test_failures_and_deaths(cluster: Engine, tmp_path: Path) -> None:
    with pytest.raises(TaskFailed, match="bad: ValueError: this one cannot be done"):
        run([Task("bad", jobs.fail, 1)], Store(tmp_path / "a"), cluster)
    mark = tmp_path / "mark"
    once = Task("dies once", jobs.die_once, 1, files=(str(mark),))
    run([once], Store(tmp_path / "b"), cluster)
    assert Store(tmp_path / "b").has(once.key)


def test_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"barrow\[ray\]"):
        run([Task("t", jobs.fail, 1)], Store(tmp_path), Engine(name="ray"))
