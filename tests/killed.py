"""Actions in a child process that dies before a chosen change of the disk."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barrow.files import disk

WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "shutil.rmtree", "open")
Act = Callable[[], object]


def _in_child(act: Act, before: Callable[[str, tuple[Any, ...]], object]) -> int:
    child = os.fork()
    if child == 0:

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            reads = event == "open" and not (
                isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            )
            if event in WRITES and not reads:
                before(event, arguments)

        sys.addaudithook(watch)
        try:
            act()
        except BaseException:  # noqa: BLE001 - the parent sees it by the code
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9)
    return code


def killed_when(condition: Callable[[int], bool], act: Act) -> bool:
    """Die before the first change of whose number `condition` is true; whether it did."""
    number = 0

    def before(*_: object) -> None:
        nonlocal number
        number += 1
        if condition(number):
            os._exit(9)

    return _in_child(act, before) == 9


def killed_at(step: int, act: Act) -> bool:
    """Die before the `step`-th change."""
    return killed_when(lambda number: number == step, act)


def moments(act: Act) -> list[int]:
    """Numbers of the first change of each kind: a name is given or taken, of what kind of file."""
    with tempfile.TemporaryFile() as notes:

        def before(event: str, arguments: tuple[Any, ...]) -> None:
            place = Path(os.fsdecode(arguments[1 if event in ("os.rename", "os.link") else 0]))
            kind = f"{event} {re.sub('[0-9a-f]{8,}|[0-9]+', '#', place.name)}"
            names = event in ("os.rename", "os.remove", "os.link", "shutil.rmtree")
            visible = names and place.is_absolute() and not kind.endswith(".writing")
            os.write(notes.fileno(), kind.encode() + b"\n" if visible else b"\n")

        assert _in_child(act, before) == 0
        notes.seek(0)
        kinds = notes.read().splitlines()
    return [k for k, kind in enumerate(kinds, 1) if kind and kinds.index(kind) == k - 1]


def killed_before(step: int, act: Act) -> str | None:
    """Kill −9 before the `step`-th change in `barrow.files`; which change, None if there were less.

    An error of the action is one of the test.
    """
    with tempfile.TemporaryFile() as notes:
        child = os.fork()
        if child == 0:
            left = step

            def before(change: str) -> None:
                nonlocal left
                left -= 1
                if not left:
                    os.pwrite(notes.fileno(), change.encode(), 0)
                    os.kill(os.getpid(), signal.SIGKILL)

            disk.before = before
            try:
                act()
            except BaseException:  # noqa: BLE001 - the parent sees it by the code
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL)
        notes.seek(0)
        return notes.read().decode() if code else None
