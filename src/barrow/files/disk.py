"""The operations that change a disk; `before` is called ahead of each of them.

Tests set it to a function that kills the process at the n-th change.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from barrow.errors import WriteFailed


def _nothing(_change: str, _path: Path | None = None) -> None:
    pass


before: Callable[..., object] = _nothing


def opened(path: Path, flags: int) -> int:
    """A descriptor to write to; `flags` are those of `os.open`."""
    before("open", path)
    return os.open(path, flags | os.O_CLOEXEC, 0o666)


def write(descriptor: int, data: memoryview) -> None:
    """Write all of the bytes."""
    while data:
        before("write")
        data = data[os.write(descriptor, data) :]


def rewrite(descriptor: int, data: bytes) -> None:
    """Write all of the bytes over the first of a file."""
    before("write")
    written = os.pwrite(descriptor, data, 0)
    assert written == len(data)


def sync(path: Path) -> None:
    """Have a file or a folder on the disk, where the file system can."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_open(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_open(descriptor: int) -> None:
    """Have an open file on the disk."""
    before("sync")
    os.fsync(descriptor)


def rename(path: Path, to: Path) -> None:
    """Give a file or folder another name; a file of that name, or an empty folder, is replaced."""
    before("rename", to)
    path.replace(to)


def link(path: Path, to: Path) -> None:
    """Give a file a second name, which must be free."""
    before("rename", to)
    os.link(path, to)


def new_folder(path: Path) -> None:
    """Create one folder."""
    before("open", path)
    path.mkdir()


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    before("unlink", path)
    path.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove an empty folder."""
    before("unlink", folder)
    folder.rmdir()


def remove_tree(folder: Path) -> None:
    """Remove a folder and all that is in it, if it is there; links are not followed."""
    with contextlib.suppress(FileNotFoundError):
        for _, folders, names, parent in os.fwalk(folder, topdown=False):
            for name in (*names, *folders):
                before("unlink")
                with contextlib.suppress(FileNotFoundError):
                    try:
                        os.unlink(name, dir_fd=parent)
                    except (IsADirectoryError, PermissionError):
                        os.rmdir(name, dir_fd=parent)
        remove_folder(folder)


@contextlib.contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Turn an `OSError` while writing into one that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of ours: it names the file
            raise
        raise WriteFailed(f"{path} could not be written: {error.strerror or error}") from error
