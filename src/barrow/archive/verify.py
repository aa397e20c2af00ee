"""Whether every byte of an archive is what was written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import xxhash

from barrow.ahead import available_cores, map_ahead
from barrow.archive import format as layout
from barrow.archive.catalog import ShardEntry, read_catalog
from barrow.archive.foreign.files import ForeignFile
from barrow.archive.open import refuse_unfinished
from barrow.archive.piece import MAX_DOCUMENT, MAX_FRAME_SIZE, Piece, count_lines
from barrow.archive.records import RecordForm
from barrow.archive.shard import Shard, Table, read_table
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
from barrow.errors import ArchiveError, DamagedShard, NotFound

_STEP = 1 << 24


@dataclass
class Verification:
    """What was checked, and all problems."""

    num_shards: int = 0
    num_frames: int = 0
    num_documents: int = 0
    num_bytes: int = 0
    problems: list[ArchiveError] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(
    path: str | os.PathLike[str],
    *,
    deep: bool = False,
    text_key: str = "text",
    max_document: int = MAX_DOCUMENT,
    threads: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Verification:
    """Check every frame, checksum and count; with `deep`, parse every record too.

    All problems are collected. `on_progress` is called with bytes done.
    """
    check = _Check(
        text_key=text_key,
        form=RecordForm(text_key=text_key) if deep else None,
        max_document=max_document,
        threads=available_cores() if threads is None else threads,
        on_progress=on_progress or (lambda _: None),
    )
    for name in as_paths(path):
        if is_folder(name):
            check.folder(name)
        else:
            check.file(name, None)
    return check.result


@dataclass
class _Check:
    text_key: str
    form: RecordForm | None
    max_document: int
    threads: int
    on_progress: Callable[[int], None]
    result: Verification = field(default_factory=Verification)

    def folder(self, folder: str) -> None:
        if not exists(join(folder, CATALOG_NAME)):
            try:
                refuse_unfinished(folder)
            except DamagedShard as problem:
                self.result.problems.append(problem)
            files = list_readable(folder)
            if not files and self.result.ok:
                raise NotFound(f"{folder} contains no archive and no file that can be read as one")
            for path in files:
                self.file(path, None)
            return
        try:
            catalog = read_catalog(folder)
        except DamagedShard as problem:
            self.result.problems.append(problem)
            return
        for entry in catalog.shards:
            self.file(join(folder, entry.name), entry)
        listed = {entry.name for entry in catalog.shards}
        for path in list_readable(folder):
            if path.endswith(".jsonl.zst") and base_name(path) not in listed:
                self._problem(path, "unlisted-shard", f"not listed in {CATALOG_NAME}")

    def file(self, path: str, entry: ShardEntry | None) -> None:
        self.result.num_shards += 1
        if entry is not None and not exists(path):
            self._problem(path, "missing-shard", f"listed in {CATALOG_NAME}, but missing")
            return
        file = ByteRanges(path)
        self.result.num_bytes += file.size
        table: Table | None = None
        if path.endswith(".zst"):
            try:
                table = read_table(file)
            except DamagedShard as problem:
                self.result.problems.append(problem)
                return
        self._hashes(file, table, entry)
        if table is not None:
            self._frames(file, table)
        elif entry is None:
            self._foreign(path)

    def _hashes(self, file: ByteRanges, table: Table | None, entry: ShardEntry | None) -> None:
        """Compare the whole file with its own index and with the catalog."""
        if table is None and entry is None:
            return
        sha256, xxh64 = hashlib.sha256(), xxhash.xxh64()
        index_start = table.index_start if table is not None else 0
        for start in range(0, file.size, _STEP):
            data = file.read(start, _STEP)
            sha256.update(data)
            xxh64.update(data[: max(0, index_start - start)])
        if table is not None and xxh64.intdigest() != table.index.hash_before:
            self._problem(file.path, "checksum", "its bytes do not match the hash in its index")
        if entry is None:
            return
        if table is None or f"{table.index.hash_before:016x}" != entry.xxh64:
            self._problem(file.path, "replaced-shard", f"not the shard that {CATALOG_NAME} lists")
        elif sha256.hexdigest() != entry.sha256:
            self._problem(
                file.path, "checksum", f"its sha256 differs from the one in {CATALOG_NAME}"
            )
        elif (entry.documents, entry.bytes, entry.content_bytes) != (
            sum(table.index.documents),
            file.size,
            sum(row.content_size for row in table.entries),
        ):
            self._problem(file.path, "bad-catalog", f"{CATALOG_NAME} lists other sizes")

    def _frames(self, file: ByteRanges, table: Table) -> None:
        starts = []
        at = 0
        for entry in table.entries:
            starts.append(at)
            at += entry.size
        first = 0
        jobs: list[tuple[int, int, layout.Entry]] = []
        number = 0
        for entry in table.entries:
            if entry.content_size:
                jobs.append((number, first, entry))
                first += table.index.documents[number]
                number += 1
            elif entry.checksum:
                self._problem(file.path, "bad-index", "a checksum for a frame without content")
        self._skippable_frames(file, table, starts)
        check = partial(
            self._frame, file, table, Shard.of(file, table, max_document=self.max_document)
        )
        for problems, size in map_ahead(check, jobs, threads=self.threads):
            self.result.num_frames += 1
            self.result.problems += problems
            self.on_progress(size)
        self.result.num_documents += first

    def _skippable_frames(self, file: ByteRanges, table: Table, starts: list[int]) -> None:
        """Frames without content must be exactly those of the writer, in their places."""
        expected = [layout.EMPTY_FRAME, layout.MARKER]
        found = [
            file.read(start, entry.size)
            for start, entry in zip(starts[:-1], table.entries[:-1], strict=True)
            if not entry.content_size
        ]
        rebuilt = layout.pack_index(table.index) + layout.pack_seek_table(table.entries)
        starts_right = file.read(0, len(layout.PREAMBLE)) == layout.PREAMBLE
        ends_right = file.read(table.index_start, len(rebuilt) + 1) == rebuilt
        if found != expected or not starts_right or not ends_right:
            self._problem(file.path, "bad-index", "preamble, index and seek table disagree")

    def _frame(
        self, file: ByteRanges, table: Table, shard: Shard, job: tuple[int, int, layout.Entry]
    ) -> tuple[list[ArchiveError], int]:
        number, first, entry = job
        num_documents = table.index.documents[number]

        def damaged(reason: str, cause: str) -> tuple[list[ArchiveError], int]:
            problem = DamagedShard(
                cause,
                reason=reason,
                shard=base_name(file.path),
                frame=number,
                document=first,
                num_documents=num_documents,
            )
            return [problem], entry.size

        buffer = bytearray(min(entry.content_size, self.max_document + MAX_FRAME_SIZE))
        try:
            shard.load(number, memoryview(buffer))
        except DamagedShard as problem:
            return [problem], entry.size
        content = bytes(buffer)
        if layout.content_checksum(content) != entry.checksum:
            return damaged("checksum", "its content does not match the seek table's checksum")
        if content.count(b"\n") != num_documents or not content.endswith(b"\n"):
            found = count_lines(content)
            return damaged("bad-index", f"{found:,} documents; the index lists {num_documents:,}")
        if self.form is None:
            return [], entry.size
        piece = Piece(base_name(file.path), number, first, num_documents, len(content), _no_loading)
        return list(self.form.parse(content, piece).bad), entry.size

    def _foreign(self, path: str) -> None:
        source = ForeignFile(path, text_key=self.text_key, max_document=self.max_document)
        form = self.form

        def check(item: Piece | ArchiveError) -> tuple[list[ArchiveError], int, int]:
            if isinstance(item, ArchiveError):
                return [item], item.num_documents or 0, 0
            if form is None:
                return [], item.num_documents, item.size
            return list(form.parse(item.lines(), item).bad), item.num_documents, item.size

        results: Iterator[tuple[list[ArchiveError], int, int]] = map_ahead(
            check, source.pieces(), threads=self.threads
        )
        for problems, num_documents, size in results:
            self.result.problems += problems
            self.result.num_documents += num_documents
            self.result.num_frames += bool(size)
        self.on_progress(source.size)

    def _problem(self, path: str, reason: str, cause: str) -> None:
        self.result.problems.append(DamagedShard(cause, reason=reason, shard=base_name(path)))


def _no_loading(_: memoryview) -> None:
    raise AssertionError("the lines of this piece are already at hand")
