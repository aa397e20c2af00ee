"""Tasks for the tests of the engine, importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def copy_upper(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    text = "".join(Path(file).read_text() for file in files)
    (out / "result.txt").write_text(settings.get("prefix", "") + text.upper())


def spin(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    end = time.perf_counter() + settings["seconds"]
    while time.perf_counter() < end:
        pass
    (out / "done").write_text(str(settings["n"]))


def fail(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    (out / "half").write_text("half")
    raise ValueError("this one cannot be done")


def die(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    (out / "half").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    mark = Path(files[0])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (out / "result.txt").write_text("second time lucky")


def tell_pid(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    (out / "pid").write_text(str(os.getpid()))
