"""`barrow.archive.open`: any path, folder, glob or URL to an archive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from barrow.archive.bad import OnBad
from barrow.archive.catalog import ShardEntry, read_catalog
from barrow.archive.foreign import ForeignFile
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
from barrow.errors import ArchiveError, DamagedShard, NotFound


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
    """
    Open an archive for reading.

    `path` is a shard, a folder of shards, a glob, an fsspec URL, or a list of these. Files that
    others wrote are read too: .jsonl.zst of any make, .jsonl, .jsonl.gz, .json, .parquet.

    `text_key` is the key of the text in foreign records. `fields` leaves out what is not needed:
    ``("text",)`` gives documents whose meta is empty, and does not parse it. ``on_bad="count"``
    counts what is wrong in ``archive.bad`` instead of raising; `rejects` names a file that takes
    the bad records. `max_document` is the longest line accepted, in bytes. `threads` decompress and
    parse ahead (by default up to four, as cores allow; 1 reads in the caller's thread).
    """
    if on_bad not in ("raise", "count"):
        raise ValueError(f"on_bad is 'raise' or 'count', not {on_bad!r}")
    if rejects is not None and on_bad != "count":
        raise ValueError("rejects= goes with on_bad='count'")
    if max_document < 1 or (threads is not None and threads < 1):
        raise ValueError("max_document and threads are at least 1")
    reading = Reading(
        form=RecordForm(text_key=text_key, fields=tuple(fields)),
        on_bad=on_bad,
        rejects=None if rejects is None else os.fspath(rejects),
        threads=threads,
    )
    sources: list[Source] = []
    damage: list[ArchiveError] = []
    opener = _Opener(salvage_damaged=on_bad == "count", max_document=max_document)
    for name in as_paths(path):
        if is_folder(name):
            opener.add_folder(name, sources, damage)
        else:
            sources.append(opener.source(name))
    return Archive(sources, reading, damage=damage)


class _Opener:
    def __init__(self, *, salvage_damaged: bool, max_document: int) -> None:
        self._salvage = salvage_damaged
        self._max_document = max_document

    def source(self, path: str) -> Source:
        """A shard of ours if the file has our index, else a foreign file."""
        if path.endswith(".zst"):
            file = ByteRanges(path)
            try:
                table = read_table(file)
            except DamagedShard as damage:
                if not self._salvage:
                    raise
                return salvage(file, damage, max_document=self._max_document)
            if table is not None:
                return Shard.of(file, table, max_document=self._max_document)
        return ForeignFile(path, max_document=self._max_document)

    def add_folder(self, folder: str, sources: list[Source], damage: list[ArchiveError]) -> None:
        """The shards a catalog lists; without a catalog, the files of the folder."""
        if exists(join(folder, CATALOG_NAME)):
            for entry in read_catalog(folder).shards:
                problem = self._add_listed(folder, entry, sources)
                if problem is not None:
                    if not self._salvage:
                        raise problem
                    damage.append(problem)
            return
        if exists(join(folder, UNFINISHED)):
            raise DamagedShard(
                "the writer has not finished, or was killed: there is no archive.json. Write it "
                "again, or read the shards that are there by a glob",
                reason="unfinished",
                shard=base_name(folder),
            )
        files = list_readable(folder)
        if not files:
            raise NotFound(f"{folder} holds no archive and no file that could be read as one")
        sources += [self.source(file) for file in files]

    def _add_listed(
        self, folder: str, entry: ShardEntry, sources: list[Source]
    ) -> DamagedShard | None:
        path = join(folder, entry.name)
        if not exists(path):
            return self._listed_problem(
                entry, "missing-shard", f"listed in {CATALOG_NAME}, but not there"
            )
        try:
            source = self.source(path)
        except DamagedShard as error:
            return error
        if isinstance(source, Shard) and source.damage:
            sources.append(source)
            return None
        if not isinstance(source, Shard) or source.fingerprint != entry.xxh64:
            return self._listed_problem(
                entry,
                "replaced-shard",
                f"not the shard that {CATALOG_NAME} lists; bring the right one back, or read "
                "this one by its own name",
            )
        sources.append(source)
        return None

    @staticmethod
    def _listed_problem(entry: ShardEntry, reason: str, cause: str) -> DamagedShard:
        return DamagedShard(cause, reason=reason, shard=entry.name, num_documents=entry.documents)
