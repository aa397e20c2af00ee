"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden path beside `path` to write to; on leaving well it is synced and renamed.

    Whoever reads `path` sees the old file or the new one; a failure leaves no file behind.
    """
    hidden = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        yield hidden
        with hidden.open("rb") as file:
            os.fsync(file.fileno())
        hidden.replace(path)
    finally:
        with contextlib.suppress(OSError):
            hidden.unlink()
