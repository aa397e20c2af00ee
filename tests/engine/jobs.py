"""Stages for the tests of the engine, importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from barrow.engine import Engine, File, Output, Outputs, Progress, Stage, Stages, Store, Task


@dataclass(frozen=True)
class Inputs:
    files: tuple[File, ...] = ()


class Result(Outputs):
    text = Output("result.txt")


@dataclass(frozen=True)
class Upper:
    prefix: str = ""


def _copy_upper(settings: Upper, inputs: Inputs, out: Result) -> None:
    text = "".join(file.path.read_text() for file in inputs.files)
    out.text.path.write_text(settings.prefix + text.upper())


@dataclass(frozen=True)
class Spin:
    n: int
    seconds: float = 0.0


def _spin(settings: Spin, inputs: None, out: Result) -> None:
    end = time.perf_counter() + settings.seconds
    while time.perf_counter() < end:
        pass
    out.text.path.write_text(str(settings.n))


def _burn(settings: Spin, inputs: None, out: Result) -> None:
    end = time.process_time() + settings.seconds
    while time.process_time() < end:
        pass
    out.text.path.write_text(str(settings.n))


def _fail(settings: None, inputs: None, out: Result) -> None:
    (out.folder / "half").write_text("half")
    raise ValueError("this one cannot be done")


def _die(settings: None, inputs: None, out: Result) -> None:
    (out.folder / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(settings: None, inputs: Inputs, out: Result) -> None:
    mark = inputs.files[0].path
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    out.text.path.write_text("second time lucky")


def _tell_pid(settings: Spin, inputs: None, out: Result) -> None:
    out.text.path.write_text(str(os.getpid()))


class Counted(Outputs):
    """A text that need not stay, and its size."""

    text = Output("text.txt", temporary=True)
    size = Output("size.txt")


def _copy(settings: Upper, inputs: Inputs, out: Counted) -> None:
    text = settings.prefix + "".join(file.path.read_text() for file in inputs.files)
    out.text.path.write_text(text)
    out.size.path.write_text(str(len(text)))


COPY = Stage("copy", 1, _copy, Counted)


def _tell_threads(settings: Spin, inputs: None, out: Result) -> None:
    out.text.path.write_text(str(out.threads))


TELL_THREADS = Stage("tell_threads", 1, _tell_threads, Result)
COPY_UPPER = Stage("copy_upper", 1, _copy_upper, Result)
SPIN = Stage("spin", 1, _spin, Result)
BURN = Stage("burn", 1, _burn, Result)
FAIL = Stage("fail", 1, _fail, Result)
DIE = Stage("die", 1, _die, Result)
DIE_ONCE = Stage("die_once", 1, _die_once, Result)
TELL_PID = Stage("tell_pid", 1, _tell_pid, Result)


def spins(num: int, seconds: float = 0.0) -> list[Task[Result]]:
    return [SPIN.task(f"spin {n}", Spin(n, seconds), None) for n in range(num)]


def failing(label: str = "bad") -> Task[Result]:
    return FAIL.task(label, None, None)


def dying_once(mark: Path) -> Task[Result]:
    return DIE_ONCE.task("dies once", None, Inputs((File(mark, "mark"),)))


def run(
    tasks: Sequence[Task[Any]], store: Store, engine: Engine, progress: Progress | None = None
) -> list[Any]:
    with Stages(store, engine, progress) as stages:
        return stages.run("stage", tasks)


class Change(Protocol):
    """What a user writes in a file of their own."""

    def __call__(self, text: str) -> str: ...


@dataclass(frozen=True)
class Changing:
    change: Change


def _change(settings: Changing, inputs: Inputs, out: Result) -> None:
    out.text.path.write_text(settings.change(inputs.files[0].path.read_text()))


CHANGE = Stage("change", 1, _change, Result)
