"""Locks on folders and files."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(
    folder: Path, *, is_shared: bool = False, others: str = "writing to it"
) -> Iterator[None]:
    """Lock a folder or file, shared or exclusive; a lock ends with its process.

    `others` describes the holder of the lock in the error. Some network file systems cannot lock:
    there, nothing is locked.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileExistsError(
                f"{folder}: another process is {others}; wait until it has finished"
            ) from None
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)
