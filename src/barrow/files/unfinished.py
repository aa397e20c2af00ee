"""What is being written: a hidden name, and a lock that ends with its writer.

What has such a name and no lock was left by a writer that was killed. The next writer of the same
result removes it. Where a file system cannot lock, nobody can tell, and it stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from barrow.files import disk
from barrow.files.names import local_path

_SUFFIX = ".writing"
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


def hidden_file(path: Path) -> tuple[Path, int]:
    """Create a file beside `path` that will become it: its name, and a descriptor to write to."""
    remove_left_of(path)
    while True:
        hidden = hidden_beside(path)
        descriptor = disk.opened(hidden, _FILE)
        if _is_ours(descriptor):
            return hidden, descriptor


def hidden_folder(path: Path) -> tuple[Path, int]:
    """Create a folder beside `path`, for what will become it: its name, and its lock."""
    remove_left_of(path)
    while True:
        hidden = hidden_beside(path)
        disk.new_folder(hidden)
        try:
            lock = os.open(hidden, _FOLDER | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        if _is_ours(lock):
            return hidden, lock


def hidden_beside(path: Path) -> Path:
    """A unique hidden name beside `path`."""
    return path.with_name(f"{_start(path)}{os.getpid()}.{os.urandom(4).hex()}{_SUFFIX}")


def new_path(path: str | os.PathLike[str]) -> Path:
    """The path of a result, where nothing is yet; what killed writers of it left is removed."""
    result = local_path(path)
    remove_left_of(result)
    if result.is_file() or (result.is_dir() and any(result.iterdir())):
        raise ValueError(f"{result} already exists; choose another path")
    return result


def remove_left_of(path: Path) -> None:
    """Remove what killed writers of `path` left; complete an exchange of folders they began."""
    for hidden in _unfinished(path.parent, re.escape(_start(path)) + r"\d+\.[0-9a-f]{8}"):
        with contextlib.suppress(OSError), _state(hidden) as state:
            if state != "left":
                continue
            if (hidden / BEFORE).exists():
                if any(one.name not in (BEFORE, path.name) for one in hidden.iterdir()):
                    continue  # of a result whose long name begins alike
                if not path.exists():
                    disk.rename(hidden / path.name, path)
            _remove(hidden)


def remove_result(folder: Path) -> None:
    """Remove a folder of a result: for readers at once, then its bytes."""
    hidden = hidden_beside(folder)
    disk.rename(folder, hidden)
    disk.remove_tree(hidden)


def remove_unfinished(folder: Path) -> None:
    """Remove leftovers of killed writers in a folder.

    Where nothing can be locked, the caller must be its only writer.
    """
    for path in _unfinished(folder, r"\..*"):
        with _state(path) as state:
            if state != "written":
                _remove(path)


# In a hidden folder: what had the name before.
BEFORE = ".before"


def _start(path: Path) -> str:
    return f".{path.name[:60]}."


def _unfinished(folder: Path, pattern: str) -> list[Path]:
    name = re.compile(pattern + re.escape(_SUFFIX), re.DOTALL)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return []
    return [folder / one for one in names if name.fullmatch(one)]


@contextlib.contextmanager
def _state(hidden: Path) -> Iterator[Literal["left", "written", "unknown"]]:
    """Tell whether a writer left it or still writes it; inside, one that was left is locked."""
    flags = _FOLDER if hidden.is_dir() else os.O_RDWR  # some need the right to write
    try:
        lock = os.open(hidden, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield "unknown"
        return
    state: Literal["left", "written", "unknown"] = "left"
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            state = "written"
        except OSError:
            state = "unknown"
        yield state
    finally:
        os.close(lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        disk.remove_tree(path)
    else:
        disk.remove(path)


def _is_ours(descriptor: int) -> bool:
    """Lock what was just created; False if another writer took it for a leftover meanwhile."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_there = os.fstat(descriptor).st_nlink > 0
    except BlockingIOError:
        is_there = False
    except OSError:  # no locks here
        return True
    if not is_there:
        os.close(descriptor)
    return is_there
