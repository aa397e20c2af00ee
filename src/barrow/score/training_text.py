"""The text that a baseline is trained on, and the hash that names it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

import barrow.archive
from barrow.archive import Archive, read_catalog
from barrow.archive.storage import CATALOG_NAME, ByteRanges, exists, is_folder, join

_READ = 1 << 24


@dataclass(frozen=True, eq=False)
class TrainingText:
    """`digest` is the sha256 of what decides the documents of `archive`: those of its files."""

    name: str
    archive: Archive
    digest: str


def training_text(path: str | os.PathLike[str]) -> TrainingText:
    """The documents at a path: an archive, a file, or a corpus, whose train split is meant."""
    name = os.fspath(path)
    archive = barrow.archive.open(name)
    if is_folder(name) and exists(join(name, CATALOG_NAME)):
        digests = [shard.sha256 for shard in read_catalog(name).shards]
    else:
        digests = [_sha256(file) for file in archive.paths]
    return TrainingText(name, archive, hashlib.sha256("\n".join(digests).encode()).hexdigest())


def _sha256(path: str) -> str:
    file = ByteRanges(path)
    found = hashlib.sha256()
    for start in range(0, file.size, _READ):
        found.update(file.read(start, _READ))
    return found.hexdigest()
