"""What tells a file from another: its SHA-256, in constant memory, or what its folder says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from io import RawIOBase
from os import PathLike
from pathlib import Path
from typing import BinaryIO, cast

_STEP = 1 << 22


# Modification time, size, inode, and time of the last change of any of them (ctime). A file that
# replaces another has a new inode, even if both were written within a tick of the file system's
# clock. A program that writes in place can set the modification time back, but not the ctime.
Version = tuple[int, int, int, int]


def version_of(file: str | PathLike[str]) -> Version:
    """Get numbers that change when a file is replaced or written to, without reading it."""
    status = Path(file).stat()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def sha256_of(
    file: str | PathLike[str] | BinaryIO, *, on_bytes: Callable[[int], object] | None = None
) -> str:
    """The digest of a file, or of the rest of a stream; `on_bytes` is called with bytes read."""
    if isinstance(file, str | PathLike):
        with Path(file).open("rb", buffering=0) as stream:
            return sha256_of(cast(BinaryIO, stream), on_bytes=on_bytes)
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_STEP))
    while num := cast(RawIOBase, file).readinto(buffer):
        digest.update(buffer[:num])
        if on_bytes is not None:
            on_bytes(num)
    return digest.hexdigest()
