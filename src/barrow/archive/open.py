"""`barrow.archive.open`: any path, folder, glob or URL to an archive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from barrow.archive.bad_records import OnBad
from barrow.archive.catalog import ShardEntry, read_catalog
from barrow.archive.foreign.files import ForeignFile
from barrow.archive.piece import MAX_DOCUMENT, Source
from barrow.archive.reader import Archive, Reading
from barrow.archive.records import FIELDS, RecordForm
from barrow.archive.shard import Shard, read_table, salvage
from barrow.archive.storage import (
    CATALOG_NAME,
    ByteRanges,
    as_paths,
    base_name,
    exists,
    is_folder,
    join,
    list_readable,
)
from barrow.archive.writer import UNFINISHED
from barrow.errors import DamagedShard, NotFound
from barrow.files import AppendedFile


def open(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    text_key: str = "text",
    fields: Sequence[str] = FIELDS,
    on_bad: OnBad = "raise",
    rejects: str | os.PathLike[str] | None = None,
    max_document: int = MAX_DOCUMENT,
    threads: int | None = None,
) -> Archive:
    """Open an archive for reading.

    `path` is a shard, a folder of shards, a glob, an fsspec URL, or a list of these. Other files
    are read too: any .jsonl.zst, .jsonl, .jsonl.gz, .json, .parquet.

    `text_key` is the key of the text in foreign records. `fields` leaves out what is not needed:
    ``("text",)`` gives documents whose meta is empty, and does not parse it. ``on_bad="count"``
    counts what is wrong in ``archive.bad`` instead of raising; `rejects` is a file for the bad
    records. `max_document` is the longest line accepted, in bytes. `threads` decompress and parse
    ahead (by default up to four, as cores allow; 1 reads in the caller's thread).
    """
    if on_bad not in ("raise", "count"):
        raise ValueError(f"on_bad must be 'raise' or 'count', got {on_bad!r}")
    if rejects is not None and on_bad != "count":
        raise ValueError("rejects= needs on_bad='count'")
    if max_document < 1 or (threads is not None and threads < 1):
        raise ValueError("max_document and threads must be ≥ 1")
    if rejects is not None:
        AppendedFile(Path(rejects), keep=0).close()
    reading = Reading(
        form=RecordForm(text_key=text_key, fields=tuple(fields)),
        on_bad=on_bad,
        rejects=None if rejects is None else os.fspath(rejects),
        threads=threads,
    )
    opener = _Opener(text_key=text_key, max_document=max_document, stop_at_damage=on_bad == "raise")
    for name in as_paths(path):
        if is_folder(name):
            opener.add_folder(name)
        else:
            opener.add_file(name)
    return Archive(opener.sources, reading, damage=opener.damage)


class _Opener:
    """Files that can be read, and what is wrong with those that cannot."""

    def __init__(self, *, text_key: str, max_document: int, stop_at_damage: bool) -> None:
        self.sources: list[Source] = []
        self.damage: list[DamagedShard] = []
        self._text_key = text_key
        self._max_document = max_document
        self._stop_at_damage = stop_at_damage

    def _note(self, damage: DamagedShard) -> None:
        if self._stop_at_damage:
            raise damage
        self.damage.append(damage)

    def add_file(self, path: str, listed: ShardEntry | None = None) -> None:
        """A shard if the file has our index, else a foreign file."""
        shard = self._shard(path) if path.endswith(".zst") else None
        if listed is not None and (shard is None or shard.fingerprint not in (None, listed.xxh64)):
            self._note(
                DamagedShard(
                    f"not the shard that {CATALOG_NAME} lists; restore the right one, or read "
                    "this one by its own name",
                    reason="replaced-shard",
                    shard=listed.name,
                    num_documents=listed.documents,
                )
            )
        elif shard is not None:
            self.sources.append(shard)
        else:
            foreign = ForeignFile(path, text_key=self._text_key, max_document=self._max_document)
            self.sources.append(foreign)

    def _shard(self, path: str) -> Shard | None:
        file = ByteRanges(path)
        try:
            table = read_table(file)
        except DamagedShard as damage:
            self._note(damage)
            shard, problems = salvage(file, damage, max_document=self._max_document)
            self.damage += problems[1:]
            return shard
        if table is None:
            return None
        return Shard.of(file, table, max_document=self._max_document)

    def add_folder(self, folder: str) -> None:
        """The shards a catalog lists; without a catalog, the files of the folder."""
        if exists(join(folder, CATALOG_NAME)):
            for entry in read_catalog(folder).shards:
                path = join(folder, entry.name)
                if exists(path):
                    self.add_file(path, entry)
                else:
                    self._note(
                        DamagedShard(
                            f"listed in {CATALOG_NAME}, but missing",
                            reason="missing-shard",
                            shard=entry.name,
                            num_documents=entry.documents,
                        )
                    )
            return
        refuse_unfinished(folder)
        files = list_readable(folder)
        if not files:
            raise NotFound(f"{folder} contains no archive and no file that can be read as one")
        for file in files:
            self.add_file(file)


def refuse_unfinished(folder: str) -> None:
    """Raise if a folder belongs to a writer that was killed or is still writing."""
    if exists(join(folder, UNFINISHED)):
        raise DamagedShard(
            "the writer has not finished, or was killed: there is no archive.json. Write it "
            "again, or read the shards that are there by a glob",
            reason="unfinished",
            shard=base_name(folder),
        )
