from __future__ import annotations

import os
import sys
from pathlib import Path

import jobs
import pytest

from barrow import config
from barrow.engine import Engine, File, Store
from barrow.errors import MissingExtra, TaskFailed


@pytest.fixture(scope="module")
def cluster():
    import ray

    here = f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
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
    inputs = jobs.Inputs((File(source, "abc"),))
    tasks = [jobs.COPY_UPPER.task(f"{n}", jobs.Upper(str(n)), inputs) for n in range(6)]
    stores = [Store(tmp_path / "ray"), Store(tmp_path / "local")]
    jobs.run(tasks, stores[0], cluster)
    jobs.run(tasks, stores[1], Engine(num_workers=2))
    contents = [
        {p.relative_to(s.folder): p.read_bytes() for p in s.folder.rglob("*") if p.is_file()}
        for s in stores
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == 6


def test_code_in_a_file_of_the_users_own(cluster: Engine, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def upper(text):\n    return text.upper()\n")
    inputs = jobs.Inputs((File(file, "mine"),))
    task = jobs.CHANGE.task("upper", jobs.Changing(config.import_file(file).upper), inputs)
    (result,) = jobs.run([task], Store(tmp_path / "store"), cluster)
    assert result.text.path.read_text() == file.read_text().upper()


def test_failures_and_deaths(cluster: Engine, tmp_path: Path) -> None:
    with pytest.raises(TaskFailed, match="bad: ValueError: this one cannot be done"):
        jobs.run([jobs.failing()], Store(tmp_path / "a"), cluster)
    once = jobs.dying_once(tmp_path / "mark")
    jobs.run([once], Store(tmp_path / "b"), cluster)
    assert Store(tmp_path / "b").has(once.key)


def test_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"'.\[ray\]"):
        jobs.run([jobs.failing()], Store(tmp_path), Engine(name="ray"))
