"""The SHA-256 of a file or stream, in constant memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from io import RawIOBase
from os import PathLike
from pathlib import Path
from typing import BinaryIO, cast

_STEP = 1 << 22


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
