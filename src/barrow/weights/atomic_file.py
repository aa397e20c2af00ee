"""Files that appear under their name only when they are complete and on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.errors import WriteFailed


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written: its path, its length, the SHA-256 of its bytes."""

    path: Path
    num_bytes: int
    sha256: str


class HashedWriter:
    """Takes bytes in order, hashes and counts what it writes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._hash = hashlib.sha256()
        self.num_bytes = 0

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        view = memoryview(data).cast("B")
        step = 16 << 20
        for start in range(0, len(view), step):
            piece = view[start : start + step]
            self._hash.update(piece)
            while piece:
                piece = piece[os.write(self._descriptor, piece) :]
        self.num_bytes += len(view)

    def as_written(self, path: Path) -> WrittenFile:
        """What was written so far, as the contents of `path`."""
        return WrittenFile(path, self.num_bytes, self._hash.hexdigest())


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[HashedWriter]:
    """Write under a hidden name; on leaving well, sync and rename to `path`.

    An exception removes the hidden file and leaves what was under `path` as it was.
    """
    hidden = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            yield HashedWriter(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        hidden.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        _remove(hidden)
        if isinstance(error, WriteFailed) or error.errno is None:
            raise  # not the disk's word
        raise WriteFailed(f"{path} could not be written: {error.strerror or error}") from error
    except BaseException:
        _remove(hidden)
        raise


def sync_folder(folder: Path) -> None:
    """Make a rename inside a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: Path, data: bytes) -> WrittenFile:
    """Write a whole small file."""
    with atomic_file(path) as writer:
        writer.write(data)
    return writer.as_written(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
