"""A folder or file that one process writes to at a time."""

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
    """Hold a folder or file, with others who share it or alone; a lock ends with its process.

    `others` is what a process that has it does, for the error. Folders of some networks cannot be
    locked: there, nothing is held.
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
