"""Actions in a child process that is killed before a chosen change of the disk."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from barrow.files import disk

Act = Callable[[], object]


def _in_child(act: Act, before: Callable[[str, Path | None], object]) -> bool:
    """Whether the child was killed; an error of the action is one of the test."""
    child = os.fork()
    if child == 0:
        disk.before = lambda change, path=None: before(change, path)
        try:
            act()
        except BaseException:  # noqa: BLE001 - the parent sees it by the code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9, -signal.SIGKILL)  # 9: by the action itself
    return code != 0


def killed_when(condition: Callable[[int], bool], act: Act) -> bool:
    """Kill −9 before the first change of whose number `condition` is true; whether it was."""
    number = 0

    def before(*_: object) -> None:
        nonlocal number
        number += 1
        if condition(number):
            os.kill(os.getpid(), signal.SIGKILL)

    return _in_child(act, before)


def killed_at(step: int, act: Act) -> bool:
    """Kill −9 before the `step`-th change."""
    return killed_when(lambda number: number == step, act)


def changes(act: Act) -> list[str]:
    """The changes of an action that is not killed: what is done, to what kind of file."""
    with tempfile.TemporaryFile() as notes:

        def before(change: str, path: Path | None) -> None:
            name = "" if path is None else re.sub("[0-9a-f]{8,}|[0-9]+", "#", path.name)
            os.write(notes.fileno(), f"{change} {name}\n".encode())

        assert not _in_child(act, before)
        notes.seek(0)
        return notes.read().decode().splitlines()


def moments(act: Act) -> list[int]:
    """Numbers of the first change of each kind: a name is given or taken, of what kind of file."""
    kinds = changes(act)
    visible = [k for k in kinds if k.startswith(("rename", "unlink")) and len(k.split()) > 1]
    return [kinds.index(kind) + 1 for kind in dict.fromkeys(visible) if ".writing" not in kind]
