"""Files that appear under their name only when they are complete and on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.errors import WriteFailed
from barrow.files.folder import hidden_beside, make_folder, sync_folder

_STEP = 16 << 20


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written: its path, its length, the SHA-256 of its bytes if it was hashed."""

    path: Path
    num_bytes: int
    sha256: str


class AtomicFile:
    """A file under a hidden name until `publish`; its bytes are counted and, if `hashed`, hashed.

    A full or failing disk raises `WriteFailed`, which names `path`.
    """

    def __init__(self, path: Path, *, hashed: bool = True) -> None:
        self.path = path
        self.num_bytes = 0
        self._hidden = hidden_beside(path)
        self._hash = hashlib.sha256() if hashed else None
        with named_failures(path):
            make_folder(path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor: int | None = os.open(self._hidden, flags, 0o666)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        assert self._descriptor is not None
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _STEP):
            piece = view[start : start + _STEP]
            if self._hash is not None:
                self._hash.update(piece)
            with named_failures(self.path):
                while piece:
                    piece = piece[os.write(self._descriptor, piece) :]
        self.num_bytes += len(view)

    def rewrite(self, data: bytes) -> None:
        """Write other bytes over the first; the hash of a file that is hashed would be wrong."""
        assert self._descriptor is not None
        assert self._hash is None
        with named_failures(self.path):
            written = os.pwrite(self._descriptor, data, 0)
        assert written == len(data)

    def publish(self, *, replace: bool = True) -> WrittenFile:
        """Sync, rename to `path`, sync the folder; without `replace` a taken name is refused."""
        assert self._descriptor is not None
        with named_failures(self.path):
            os.fsync(self._descriptor)
            self._close()
            if replace:
                self._hidden.replace(self.path)
            else:
                _rename_to_free_name(self._hidden, self.path)
            sync_folder(self.path.parent)
        return self.written

    @property
    def written(self) -> WrittenFile:
        """What was written so far, as the contents of `path`."""
        digest = "" if self._hash is None else self._hash.hexdigest()
        return WrittenFile(self.path, self.num_bytes, digest)

    def discard(self) -> None:
        """Remove what was written; nothing happens after `publish`."""
        self._close()
        with contextlib.suppress(OSError):
            self._hidden.unlink()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextlib.contextmanager
def atomic_file(path: Path, *, hashed: bool = True) -> Iterator[AtomicFile]:
    """A file that is published on a normal exit; on an exception `path` stays unchanged."""
    file = AtomicFile(path, hashed=hashed)
    try:
        yield file
        file.publish()
    finally:
        file.discard()


def write_bytes(path: Path, data: bytes) -> WrittenFile:
    """Write a whole small file."""
    with atomic_file(path) as file:
        file.write(data)
    return file.written


def link_or_copy(source: Path, target: Path) -> None:
    """Link or, where that is impossible, copy a finished file, atomically."""
    hidden = hidden_beside(target)
    with named_failures(target):
        try:
            try:
                os.link(source, hidden)
            except OSError:
                shutil.copyfile(source, hidden)
                with hidden.open("rb") as file:
                    os.fsync(file.fileno())
            hidden.replace(target)
            sync_folder(target.parent)
        finally:  # a rename does nothing where both names are one file already
            hidden.unlink(missing_ok=True)


@contextlib.contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Turn an `OSError` while writing into one that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of ours: it names the file
            raise
        raise WriteFailed(f"{path} could not be written: {error.strerror or error}") from error


def _rename_to_free_name(hidden: Path, path: Path) -> None:
    """Rename, unless the name is already taken."""
    try:
        os.link(hidden, path)
    except FileExistsError:
        raise FileExistsError(
            f"{path} was created by another process meanwhile; it was not changed"
        ) from None
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError(f"{path} was created by another process meanwhile") from None
        hidden.replace(path)
    else:
        hidden.unlink()
