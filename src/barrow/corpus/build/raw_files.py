"""The raw files of a domain: found in a fixed order, named the same on every machine, hashed."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path

from barrow.corpus.times import HASHING
from barrow.engine import File, StageTime
from barrow.files import sha256_of, version_of, write_bytes

_COMPRESSED = (".zst", ".gz", ".bz2", ".xz", ".lz4", ".zip", ".7z", ".tgz", ".parquet")
_RATIO = 3


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file: its path here, its name under the root, its size, the hash of its bytes, and the day
    (UTC) of its last change.
    """

    path: str
    name: str
    size: int
    sha256: str
    date: str

    @property
    def file(self) -> File:
        """As the input of a task."""
        return File(Path(self.path), self.sha256)

    @property
    def content_size(self) -> int:
        """About how many bytes there are to read, once it is decompressed."""
        return self.size * (_RATIO if self.name.endswith(_COMPRESSED) else 1)


def find_files(folder: Path, patterns: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """Files under a folder that match a pattern, and those that match none, each sorted.

    Links are not followed: they may lead anywhere, and twice to the same place. A pattern without
    wildcards names one file, which may be a link.
    """
    matched = {
        path
        for pattern in patterns
        for path in folder.glob(pattern)
        if _is_plain_file(path) or (path.is_file() and not has_magic(pattern))
    }
    everything = {
        Path(parent, name)
        for parent, _, names in os.walk(folder, followlinks=False)
        for name in names
    }
    by_name = os.fsencode
    return sorted(matched, key=by_name), sorted(everything - matched, key=by_name)


def find_folders(folder: Path, patterns: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """Folders directly under a folder and files there that match a pattern; and other files."""
    entries = sorted(folder.iterdir(), key=os.fsencode) if folder.is_dir() else []
    folders = [path for path in entries if path.is_dir() and not path.is_symlink()]
    files, unread = find_files(folder, patterns)
    here = [path for path in files if path.parent == folder]
    inside = set(folders)
    return sorted([*folders, *here], key=os.fsencode), [
        path for path in unread if not inside & set(path.parents)
    ]


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def portable_name(path: Path, root: Path) -> str:
    """A path under the root, the same on every machine and always valid Unicode."""
    relative = os.fsencode(path.relative_to(root).as_posix())
    return relative.decode("utf-8", "backslashreplace")


class HashCache:
    """Hashes of files, remembered by path and version in a JSON file.

    With `only_known`, files that are not in it are not read; their hash is that of no file.
    """

    def __init__(self, path: Path, *, only_known: bool = False) -> None:
        self._only_known = only_known
        self._path = path
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}
        self._changed = False
        self._num_files = self._num_hashed = self._bytes_hashed = self.num_unknown = 0
        try:
            saved = json.loads(path.read_text())
            # Rows of earlier versions are shorter: their files are hashed once more.
            self._known = {name: (tuple(row[:-1]), row[-1]) for name, row in saved.items()}
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            pass  # an unreadable cache counts as empty

    def raw_file(self, path: Path, root: Path, on_bytes: Callable[[int], None]) -> RawFile:
        """A file with the hash of its bytes."""
        version = version_of(path)
        changed, size, *_ = version
        place = os.fsencode(path).decode("utf-8", "backslashreplace")
        before, digest = self._known.get(place, ((), ""))
        self._num_files += 1
        if before == version:
            on_bytes(size)
        elif self._only_known:
            digest = ""
            self.num_unknown += 1
        else:
            digest = sha256_of(path, on_bytes=on_bytes)
            self._known[place] = version, digest
            self._changed = True
            self._num_hashed += 1
            self._bytes_hashed += size
        day = datetime.datetime.fromtimestamp(changed // 10**9, datetime.UTC).date().isoformat()
        return RawFile(str(path), portable_name(path, root), size, digest, day)

    def raw_folder(self, folder: Path, root: Path, on_bytes: Callable[[int], None]) -> RawFile:
        """A folder read as a whole: the hash is that of its files' names and hashes."""
        files, _ = find_files(folder, ("**/*",))
        raw = [self.raw_file(path, folder, on_bytes) for path in files]
        listing = "".join(f"{file.sha256} {file.name}\n" for file in raw)
        digest = hashlib.sha256(listing.encode()).hexdigest()
        size = sum(file.size for file in raw)
        day = max((file.date for file in raw), default="")
        return RawFile(str(folder), portable_name(folder, root), size, digest, day)

    def took(self, seconds: float, cpu_seconds: float) -> StageTime:
        """What finding and hashing the files took."""
        known = self._num_files - self._num_hashed
        return StageTime(HASHING, self._num_files, known, self._bytes_hashed, seconds, cpu_seconds)

    def save(self) -> None:
        """Write the cache."""
        if self._changed:
            rows = {name: (*version, digest) for name, (version, digest) in self._known.items()}
            write_bytes(self._path, json.dumps(rows).encode())
            self._changed = False
