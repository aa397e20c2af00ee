"""Folders that are published atomically, and their contents."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path

from barrow.files.names import local_path

UNFINISHED = ".writing"


def hidden_beside(path: Path) -> Path:
    """A unique name beside `path`, for what will become `path`."""
    return path.with_name(f".{path.name[:60]}.{os.getpid()}.{os.urandom(4).hex()}{UNFINISHED}")


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create the folder of a result, and those above it."""
    folder = local_path(path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def listed(folder: Path) -> list[str]:
    """The names of all that was published in a folder, sorted; none without a folder."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def remove_unfinished(folder: Path) -> None:
    """Remove leftovers of killed writers in a folder; the caller is its only writer."""
    for path in folder.glob(f".*{UNFINISHED}"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut, where the file system can."""
    _sync(folder)


def sync_tree(folder: Path) -> None:
    """Sync a folder and all that is in it to disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync(Path(parent, name))
        _sync(Path(parent))


def publish_folder(part: Path, path: Path) -> None:
    """Rename a finished folder, after everything in it is on disk.

    An existing folder is moved aside first and then removed, so a kill in between leaves the name
    free and both folders complete.
    """
    sync_tree(part)
    before = hidden_beside(path)
    with contextlib.suppress(FileNotFoundError):
        path.rename(before)
    part.rename(path)
    sync_folder(path.parent)
    shutil.rmtree(before, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
