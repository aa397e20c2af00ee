"""Files that appear under their name only when they are complete and on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.files import disk
from barrow.files.disk import named_failures
from barrow.files.folder import make_folder, sync_folder, sync_tree
from barrow.files.unfinished import BEFORE, hidden_beside, hidden_file, hidden_folder

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
        self._hash = hashlib.sha256() if hashed else None
        self._descriptor: int | None
        with named_failures(path):
            make_folder(path.parent)
            self._hidden, self._descriptor = hidden_file(path)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        assert self._descriptor is not None
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _STEP):
            piece = view[start : start + _STEP]
            if self._hash is not None:
                self._hash.update(piece)
            with named_failures(self.path):
                disk.write(self._descriptor, piece)
        self.num_bytes += len(view)

    def rewrite(self, data: bytes) -> None:
        """Write other bytes over the first; the hash of a file that is hashed would be wrong."""
        assert self._descriptor is not None
        assert self._hash is None
        with named_failures(self.path):
            disk.rewrite(self._descriptor, data)

    def publish(self, *, replace: bool = True) -> WrittenFile:
        """Sync, rename to `path`, sync the folder; without `replace` a taken name is refused."""
        assert self._descriptor is not None
        with named_failures(self.path):
            disk.sync_open(self._descriptor)
            if replace:
                disk.rename(self._hidden, self.path)
            else:
                _rename_to_free_name(self._hidden, self.path)
            self._close()  # with its lock, so not before it has its name
            sync_folder(self.path.parent)
        return self.written

    @property
    def written(self) -> WrittenFile:
        """What was written so far, as the contents of `path`."""
        digest = "" if self._hash is None else self._hash.hexdigest()
        return WrittenFile(self.path, self.num_bytes, digest)

    def discard(self) -> None:
        """Remove what was written; nothing happens after `publish`."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                disk.remove(self._hidden)
            self._close()

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


@contextlib.contextmanager
def atomic_path(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A path in a hidden folder; the file or folder made there becomes `path` on a normal exit.

    On an exception `path` stays unchanged, as it does where it is taken, unless with `replace`: a
    kill then leaves the old one, the new one, or none until the next writer puts the new one there.
    """
    with named_failures(path):
        make_folder(path.parent)
        hidden, lock = hidden_folder(path)
    try:
        yield hidden / path.name
        with named_failures(path):
            sync_tree(hidden)
            if replace and path.is_dir():
                disk.rename(path, hidden / BEFORE)
            _rename_to_free_name(hidden / path.name, path)
            sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            if (hidden / BEFORE).exists() and not path.exists():
                disk.rename(hidden / BEFORE, path)
            disk.remove_tree(hidden)
        os.close(lock)


class AppendedFile:
    """A file that grows under its name; the first `keep` bytes of what is there stay, or all.

    Only its end can be incomplete after a kill, which its readers must see.
    """

    def __init__(self, path: Path, *, keep: int | None = None) -> None:
        self.path = path
        with named_failures(path):
            make_folder(path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if keep == 0 else 0)
            self._descriptor: int | None = disk.opened(path, flags)
            if keep:
                disk.before("write")
                os.ftruncate(self._descriptor, keep)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        assert self._descriptor is not None
        with named_failures(self.path):
            disk.write(self._descriptor, memoryview(data))

    def sync(self) -> None:
        """Have all of it on the disk."""
        assert self._descriptor is not None
        with named_failures(self.path):
            disk.sync_open(self._descriptor)

    def close(self) -> None:
        """Stop writing; the file stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def write_part(path: Path, data: bytes) -> None:
    """Write a small file of a folder that has no name yet; publishing the folder syncs it."""
    with named_failures(path):
        descriptor = disk.opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            disk.write(descriptor, memoryview(data))
        finally:
            os.close(descriptor)


def link_or_copy(source: Path, target: Path) -> None:
    """Link or, where that is impossible, copy a finished file, atomically."""
    if target.exists() and target.samefile(source):
        return
    hidden = hidden_beside(target)
    with named_failures(target):
        try:
            disk.link(source, hidden)
        except OSError:
            with source.open("rb") as file, atomic_file(target) as copy:
                while piece := file.read(_STEP):
                    copy.write(piece)
            return
        try:
            disk.rename(hidden, target)
            sync_folder(target.parent)
        except BaseException:
            disk.remove(hidden)
            raise


def _rename_to_free_name(made: Path, path: Path) -> None:
    """Rename, unless the name is already taken."""
    try:
        if made.is_dir():
            disk.rename(made, path)  # refused by the system, unless an empty folder is there
            return
        disk.link(made, path)
    except OSError as error:
        if path.exists():
            raise FileExistsError(
                f"{path} was created by another process meanwhile; it was not changed"
            ) from None
        if made.is_dir():
            raise error
        disk.rename(made, path)  # a file system without links
    else:
        disk.remove(made)
