"""Code that a user wrote in a file of their own: in every kind of worker, and in the key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jobs
import pytest

from barrow import config
from barrow.engine import Engine, File, Store, Task
from barrow.engine.workers import pack, unpack
from barrow.errors import TaskFailed

CODE = """
from dataclasses import dataclass

END = "!"
UNUSED = 1

def ended(text):
    return text + END

@dataclass(frozen=True)
class Repeat:
    times: int = 2

    def __call__(self, text):
        return ended(text * self.times)

def upper(text):
    return text.upper()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    (tmp_path / "in.txt").write_text("ab")
    return path


def tasks(file: Path) -> list[Task[jobs.Result]]:
    mine = config.import_file(file)
    inputs = jobs.Inputs((File(file.parent / "in.txt", "ab"),))
    return [
        jobs.CHANGE.task(f"{n}", jobs.Changing(change), inputs)
        for n, change in enumerate((mine.Repeat(3), mine.upper))
    ]


@pytest.mark.parametrize("engine", [Engine(num_workers=0), Engine(num_workers=2)])
def test_every_worker_can_import_it(engine: Engine, file: Path, tmp_path: Path) -> None:
    results = jobs.run(tasks(file), Store(tmp_path / "store"), engine)
    assert [result.text.path.read_text() for result in results] == ["ababab!", "AB"]


def test_the_key_is_of_the_source_that_is_used(file: Path, tmp_path: Path) -> None:
    before = [task.key for task in tasks(file)]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "mine.py").write_text(CODE)
    (moved / "in.txt").write_text("ab")
    assert [task.key for task in tasks(moved / "mine.py")] == before, "no path is part of it"
    file.write_text(CODE.replace("UNUSED = 1", "UNUSED = 2"))
    assert [task.key for task in tasks(file)] == before
    file.write_text(CODE.replace('END = "!"', 'END = "?"'))
    repeat, upper = (task.key for task in tasks(file))
    assert (repeat != before[0], upper == before[1]) == (True, True)


def test_a_key_is_of_the_code_that_runs(file: Path) -> None:
    """An edit after the import belongs to the next build."""
    loaded = tasks(file)
    file.write_text(CODE.replace('END = "!"', 'END = "?"'))
    assert loaded[0].key == tasks_of_text(CODE, file)[0].key


def tasks_of_text(text: str, file: Path) -> list[Task[jobs.Result]]:
    file.write_text(text)
    return tasks(file)


def test_a_file_that_changed_meanwhile(file: Path, tmp_path: Path) -> None:
    task, other = tasks(file)
    assert unpack(pack(task)).settings == task.settings
    file.write_text(CODE.replace('END = "!"', 'END = "?"'))
    jobs.run([other], Store(tmp_path / "store"), Engine(num_workers=1))  # does not use it
    with pytest.raises(TaskFailed, match=r"mine\.py changed while the work was running"):
        jobs.run([task], Store(tmp_path / "store"), Engine(num_workers=1))


SCRIPT = """
import sys
from dataclasses import dataclass
from pathlib import Path
sys.path.insert(0, {here!r})
import jobs
from barrow.engine import Engine, File, Output, Outputs, Stage, Store

class Text(Outputs):
    text = Output("text.txt")

@dataclass(frozen=True)
class Said:
    text: str
    times: tuple[tuple[float, int], ...]
    by_name: dict[str, int | None]

def say(settings: Said, inputs: tuple[File, ...], out: Text) -> None:
    assert isinstance(settings.times[0], tuple)
    out.text.path.write_text(f"{{settings}} {{inputs[0].path.read_text()}}")

SAY = Stage("say", 1, say, Text)
if __name__ == "__main__":
    file = File(Path({file!r}), "in")
    said = Said("caf\\u00e9", ((0.1, 3), (1e300, 4)), {{"a": None, "b": 2}})
    task = SAY.task("say", said, (file,))
    for num in (0, 1):
        (result,) = jobs.run([task], Store(Path({store!r}) / str(num)), Engine(num_workers=num))
        print(result.text.path.read_text())
"""


def test_a_stage_of_the_script_that_is_run(file: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT.format(
            here=str(Path(__file__).parent),
            file=str(file.parent / "in.txt"),
            store=str(tmp_path / "store"),
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    here, worker = done.stdout.splitlines()
    assert here == worker
    assert here.endswith("by_name={'a': None, 'b': 2}) ab")
