"""Resolves paths, folders, globs and fsspec URLs to files, and opens them for reading."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec

from barrow.errors import NotFound, nearest_path

CATALOG_NAME = "archive.json"
READABLE = (
    ".jsonl.zst",
    ".jsonl.gz",
    ".jsonl",
    ".ndjson",
    ".ndjson.zst",
    ".ndjson.gz",
    ".json",
    ".json.zst",
    ".json.gz",
    ".parquet",
)

_GLOB_CHARACTERS = frozenset("*?[")


def is_url(path: str) -> bool:
    """Whether a name is for fsspec (``s3://``, ``memory://``), not a local path."""
    return "://" in path or ("::" in path and not Path(path).exists())


def join(folder: str, name: str) -> str:
    """A name inside a folder or URL."""
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else str(Path(folder) / name)


def base_name(path: str) -> str:
    """The last part of a path or URL, by which errors name a shard."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def _filesystem(path: str) -> tuple[Any, str]:
    filesystem, inner = fsspec.core.url_to_fs(path)
    return filesystem, inner


def exists(path: str) -> bool:
    """Whether a file or folder of that name exists."""
    if not is_url(path):
        return Path(path).exists()
    filesystem, inner = _filesystem(path)
    return bool(filesystem.exists(inner))


def is_folder(path: str) -> bool:
    """Whether the name is a folder."""
    if not is_url(path):
        return Path(path).is_dir()
    filesystem, inner = _filesystem(path)
    return bool(filesystem.isdir(inner))


def list_readable(folder: str) -> list[str]:
    """Files of a folder that an archive may be made of, sorted by name; hidden ones left out."""
    if is_url(folder):
        filesystem, inner = _filesystem(folder)
        names = [base_name(name) for name in filesystem.ls(inner, detail=False)]
    else:
        names = [path.name for path in Path(folder).iterdir()]
    keep = (n for n in names if n.endswith(READABLE) and n != CATALOG_NAME and n[0] not in "._")
    return [join(folder, name) for name in sorted(keep)]


def expand(pattern: str) -> list[str]:
    """The files a path, glob or URL names; a folder stays a folder."""
    if exists(pattern):
        return [pattern]
    if not _GLOB_CHARACTERS.isdisjoint(pattern):
        if is_url(pattern):
            filesystem, inner = _filesystem(pattern)
            found = [filesystem.unstrip_protocol(name) for name in filesystem.glob(inner)]
        else:
            import glob

            found = glob.glob(pattern, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute
        # A pattern that matches both a folder and what is in it means the files.
        files = [name for name in found if not is_folder(name) and base_name(name) != CATALOG_NAME]
        if files or found:
            return sorted(files or found)
        raise NotFound(f"no file matches {pattern}")
    near = "" if is_url(pattern) else nearest_path(pattern)
    raise NotFound(f"{pattern} does not exist" + (f"; {near}" if near else ""))


def as_paths(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Every name given, expanded."""
    names = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not names:
        raise ValueError("no path given")
    return [found for name in names for found in expand(os.fspath(name))]


def open_binary(path: str) -> BinaryIO:
    """Open a file for sequential reading."""
    if is_url(path):
        return cast(BinaryIO, fsspec.open(path, "rb").open())
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder where a file is expected")
    return Path(path).open("rb", buffering=0)


class ByteRanges:
    """A file read at any offset, from any thread, before or after a fork; picklable.

    A local file is opened for each read: that costs microseconds, a frame a millisecond, and an
    archive of ten thousand shards needs few descriptors.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._remote: BinaryIO | None = None
        self._process = 0
        self._lock = threading.Lock()
        self._size: int | None = None

    def __reduce__(self) -> tuple[type[ByteRanges], tuple[str]]:
        return ByteRanges, (self.path,)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        if self._size is None:
            if is_url(self.path):
                with self._lock:
                    self._size = self._open_remote().seek(0, os.SEEK_END)
            else:
                with open_binary(self.path) as file:
                    self._size = file.seek(0, os.SEEK_END)
        return self._size

    def read(self, start: int, num_bytes: int) -> bytes:
        """Bytes from `start`; fewer only at the end of the file."""
        if not is_url(self.path):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.pread(descriptor, num_bytes, start)
                # One call reads 2 GiB at most.
                while 0 < len(data) < num_bytes and (
                    more := os.pread(descriptor, num_bytes - len(data), start + len(data))
                ):
                    data += more
                return data
            finally:
                os.close(descriptor)
        with self._lock:
            remote = self._open_remote()
            remote.seek(start)
            return remote.read(num_bytes)

    @contextlib.contextmanager
    def mapped(self) -> Iterator[bytes | mmap.mmap]:
        """The whole file, without holding it where it is local."""
        if is_url(self.path) or not self.size:
            yield self.read(0, self.size)
            return
        with (
            open_binary(self.path) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield data

    def _open_remote(self) -> BinaryIO:
        # A child process must not share its parent's file.
        if self._remote is None or self._process != os.getpid():
            self._remote = open_binary(self.path)
            self._process = os.getpid()
        return self._remote


def disk_bytes(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> int:
    """Bytes of the readable files that a path, folder, glob or URL names."""
    files = [
        file
        for name in as_paths(path)
        for file in (list_readable(name) if is_folder(name) else [name])
    ]
    return sum(ByteRanges(file).size for file in files)
