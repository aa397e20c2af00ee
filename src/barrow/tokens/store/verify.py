"""Verification of every byte of a token store, and of its meaning.

The reasons are: ``bad-store-file``, ``missing-file``, ``wrong-size``, ``wrong-checksum``,
``bad-header`` (a file does not describe its own bytes), ``bad-offsets``, ``bad-index`` (not where
the shards' documents begin), ``id-over-vocabulary``, ``bad-document`` (one that does not begin or
end with the tokenizer's ids), ``unknown-source``, and ``unexpected-file``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import StoreError
from barrow.files import sha256_of
from barrow.tokens.store.array_file import read_header, read_rows
from barrow.tokens.store.store_file import (
    TOKENIZER,
    DomainEntry,
    FileEntry,
    ShardEntry,
    StoreFile,
    read_store_file,
)
from barrow.tokens.store.token_file import TokenFile


@dataclass
class StoreVerification:
    """What was checked, and all problems found."""

    num_files: int = 0
    num_documents: int = 0
    num_tokens: int = 0
    num_bytes: int = 0
    problems: list[StoreError] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify_store(
    path: str | os.PathLike[str], *, on_progress: Callable[[int], None] | None = None
) -> StoreVerification:
    """Check every checksum, offset and id. All problems are collected, none ends the check."""
    folder = Path(path)
    try:
        manifest = read_store_file(folder)
    except StoreError as problem:
        return StoreVerification(problems=[problem])
    check = _Check(folder, manifest, on_progress or (lambda _: None))
    check.run()
    return check.result


@dataclass
class _Check:
    folder: Path
    manifest: StoreFile
    on_progress: Callable[[int], None]
    result: StoreVerification = field(default_factory=StoreVerification)

    def run(self) -> None:
        for file in self.manifest.tokenizer.files:
            self._whole(self.folder / TOKENIZER, file)
        for domain in self.manifest.domains:
            self._domain(domain)
        listed = {file.name for file in self.manifest.files()}
        for path in sorted(self.folder.glob("*.safetensors")):
            if path.name not in listed:
                self._problem("unexpected-file", path.name, "not listed in store.json")

    def _domain(self, domain: DomainEntry) -> None:
        sound = [self._shard(domain.name, shard) for shard in domain.shards]
        if self._whole(self.folder, domain.index) and all(sound):
            try:
                self._index(domain)
            except StoreError as problem:
                self.result.problems.append(problem)

    def _shard(self, domain: str, entry: ShardEntry) -> bool:
        before = len(self.result.problems)
        self.result.num_documents += entry.documents
        self.result.num_tokens += entry.tokens
        if not self._whole(self.folder, entry.file):
            return False
        try:
            shard = TokenFile.open(self.folder / entry.file.name, np.dtype(self.manifest.dtype))
        except StoreError as problem:
            self.result.problems.append(problem)
            return False
        counted = (shard.document_starts[-1], shard.token_starts[-1])
        if counted != (entry.documents, entry.tokens):
            cause = f"expected {entry.documents:,} documents and {entry.tokens:,} tokens, found "
            self._problem(
                "bad-header", entry.file.name, f"{cause}{counted[0]:,} and {counted[1]:,}"
            )
        if {piece.domain for piece in shard.pieces} != {domain}:
            self._problem("bad-header", entry.file.name, f"expected documents of {domain!r} only")
        sources = {source.sha256[:32] for source in self.manifest.corpus.sources}
        for name in sorted({piece.source for piece in shard.pieces} - sources):
            self._problem("unknown-source", entry.file.name, f"store.json does not list {name}")
        self._tokens(shard)
        return len(self.result.problems) == before

    def _tokens(self, shard: TokenFile) -> None:
        name, tokenizer = shard.path.name, self.manifest.tokenizer
        offsets: npt.NDArray[Any] = shard.mapped()["offsets"]
        steps_back = bool((offsets[1:] < offsets[:-1]).any())
        if int(offsets[0]) or int(offsets[-1]) != shard.token_starts[-1] or steps_back:
            cause = f"expected offsets rising from 0 to {shard.token_starts[-1]:,}"
            self._problem("bad-offsets", name, cause)
            return
        full = offsets[1:] > offsets[:-1]
        edges = {
            "begin": (tokenizer.begin, offsets[:-1][full]),
            "end": (tokenizer.end, offsets[1:][full] - 1),
        }
        at = 0
        for ids in shard.rows("ids", 0, shard.token_starts[-1]):
            if int(ids.max()) >= tokenizer.vocab_size:
                where = at + int(np.argmax(ids >= tokenizer.vocab_size))
                cause = f"token {where:,} is {int(ids.max()):,} of {tokenizer.vocab_size:,} ids"
                self._problem("id-over-vocabulary", name, cause)
            for edge, (wanted, places) in edges.items():
                low, high = np.searchsorted(places, np.array([at, at + len(ids)], places.dtype))
                here = places[low:high].astype(np.int64) - at
                wrong = here[ids[here] != wanted] if wanted is not None else here[:0]
                if len(wrong):
                    cause = f"token {at + int(wrong[0]):,} must {edge} a document with {wanted}, "
                    self._problem("bad-document", name, f"{cause}got {int(ids[wrong[0]])}")
            at += len(ids)

    def _index(self, domain: DomainEntry) -> None:
        """Compare the index with the shards, a part of each at a time."""
        path = self.folder / domain.index.name
        place = read_header(path).places.get("starts")
        if place is None or place.shape != (domain.documents + 1,):
            cause = f"expected {domain.documents + 1:,} starts, found {place and place.shape}"
            self._problem("bad-index", path.name, cause)
            return
        documents = tokens = 0
        for entry in domain.shards:
            shard = TokenFile.open(self.folder / entry.file.name, np.dtype(self.manifest.dtype))
            at = documents
            for offsets in shard.rows("offsets", 0, entry.documents + 1):
                (starts,) = read_rows(path, place, at, at + len(offsets))
                if not np.array_equal(offsets + np.uint64(tokens), starts):
                    cause = f"not where the documents of {entry.file.name} begin"
                    self._problem("bad-index", path.name, cause)
                    return
                at += len(offsets)
            documents, tokens = documents + entry.documents, tokens + entry.tokens

    def _whole(self, folder: Path, file: FileEntry) -> bool:
        """Whether a file has the bytes listed in store.json."""
        self.result.num_files += 1
        path = folder / file.name
        if not path.is_file():
            self._problem("missing-file", file.name, "listed in store.json, but missing")
            return False
        size = path.stat().st_size
        self.result.num_bytes += size
        if size != file.bytes:
            cause = f"expected {file.bytes:,} bytes, found {size:,}"
            self._problem("wrong-size", file.name, cause)
            return False
        found = sha256_of(path, on_bytes=self.on_progress)
        if found != file.sha256:
            cause = f"expected SHA-256 {file.sha256}, found {found}"
            self._problem("wrong-checksum", file.name, cause)
            return False
        return True

    def _problem(self, reason: str, file: str, cause: str) -> None:
        self.result.problems.append(StoreError(cause, reason=reason, file=file))
