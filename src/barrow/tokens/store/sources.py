"""The files of an archive, named by their content, in parts that tasks work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import barrow.archive
from barrow.archive import read_catalog
from barrow.archive.shard import read_table
from barrow.archive.storage import (
    CATALOG_NAME,
    ByteRanges,
    base_name,
    exists,
    is_folder,
    join,
    open_binary,
)
from barrow.errors import NotFound
from barrow.files import sha256_of

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the archive: its path, and the SHA-256 of its bytes."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        """Its name in the archive."""
        return base_name(self.path)

    @property
    def key(self) -> str:
        """What pieces call it."""
        return self.sha256[:32]


@dataclass(frozen=True, slots=True)
class Part:
    """Documents `start` to `stop` of a file (None: to its end), about `size` bytes of lines."""

    source: Source
    start: int
    stop: int | None
    size: int


def split_path(corpus: str, split: str) -> str:
    """The path of the archive of a split of a corpus."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if split == "train":
        return corpus
    folder = join(corpus, split)
    if not exists(join(folder, CATALOG_NAME)):
        raise NotFound(f"{corpus} has no split {split!r}: there is no archive in {folder}")
    return folder


def find_sources(
    path: str, *, text_key: str, on_bytes: Callable[[int], None] | None = None
) -> list[Source]:
    """The files of an archive, in their order.

    The catalog of a barrow archive has the hashes, and opening it checks that the files are those
    listed; other files are hashed here, and `on_bytes` gets the progress.
    """
    archive = barrow.archive.open(path, text_key=text_key)
    if is_folder(path) and exists(join(path, CATALOG_NAME)):
        shards = read_catalog(path).shards
        return [Source(join(path, shard.name), shard.sha256) for shard in shards]
    return [Source(file, _sha256(file, on_bytes)) for file in archive.paths]


def _sha256(path: str, on_bytes: Callable[[int], None] | None) -> str:
    with open_binary(path) as file:
        return sha256_of(file, on_bytes=on_bytes)


def cut(source: Source, part_bytes: int) -> list[Part]:
    """A file in parts of about `part_bytes` of lines, cut at frames; one without frames whole."""
    file = ByteRanges(source.path)
    table = read_table(file) if source.path.endswith(".zst") else None
    if table is None:
        return [Part(source, 0, None, file.size)]
    return [Part(source, *span) for span in table.spans(part_bytes)]


def absolute(path: str) -> str:
    """An absolute path; a URL is unchanged."""
    return path if "://" in path else str(Path(path).resolve())
