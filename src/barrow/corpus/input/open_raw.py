"""Opening a raw file that may be missing, huge, a folder or a pipe: bytes, or a reject."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from barrow.corpus.readers.reader import Reject


def open_raw(path: Path) -> BinaryIO | Reject:
    """The file, open for reading; a link is followed, what is not a regular file is refused.

    Reasons: ``unreadable``, ``not-a-file``, ``empty``.
    """
    try:
        found = path.stat()
        # Checked before opening: opening a pipe would wait for a writer.
        if not stat.S_ISREG(found.st_mode):
            return Reject("not-a-file", "not a regular file")
        if not found.st_size:
            return Reject("empty", "the file is empty")
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        return Reject("unreadable", getattr(error, "strerror", None) or str(error))


def load_raw(path: Path, *, max_bytes: int) -> bytes | Reject:
    """All bytes of a file of at most `max_bytes`; also rejects as ``too-large``."""
    file = open_raw(path)
    if isinstance(file, Reject):
        return file
    with file:
        try:
            size = os.fstat(file.fileno()).st_size
            if size > max_bytes:
                return Reject("too-large", f"{size:,} bytes, more than {max_bytes:,}")
            return file.read(size)
        except OSError as error:
            return Reject("unreadable", error.strerror or str(error))


def shown(name: str | Path) -> str:
    """A file name as valid text, even if it is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
