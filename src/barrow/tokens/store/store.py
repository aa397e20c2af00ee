"""A token store, open: the tokens of each domain as one long sequence, mapped into memory."""

from __future__ import annotations

import operator
import os
import resource
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.archive.document import identity_of, name_of
from barrow.errors import NotFound, StoreError, nearest
from barrow.tokens.store.array_file import map_arrays
from barrow.tokens.store.store_file import (
    TOKENIZER,
    DomainEntry,
    ShardEntry,
    StoreFile,
    read_store_file,
)
from barrow.tokens.store.token_file import TokenFile

# Each mapping holds a file descriptor, of which a process may have only so many.
_MOST_MAPPED = 1 << 14
_PART_MAPPED = 4


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document of a store.

    `identity` is its id in the archive ("" if it has none), `archive_number` its number there,
    `source` the archive's file that it is in. Its tokens are `start` to `stop` of those of its
    domain, and of the file `shard` those from `shard_start` on.
    """

    number: int
    domain: str
    identity: str
    archive_number: int
    source: str
    shard: str
    shard_start: int
    start: int
    stop: int

    @property
    def num_tokens(self) -> int:
        """Ids, with those it begins and ends with; 0 for an empty text."""
        return self.stop - self.start


def open_store(path: str | os.PathLike[str]) -> TokenStore:
    """Open a token store; every listed file must be there in its full size."""
    folder = Path(path)
    manifest = read_store_file(folder)
    for file in manifest.files():
        try:
            found = (folder / file.name).stat().st_size
        except FileNotFoundError:
            raise StoreError(
                f"expected a file of {file.bytes:,} bytes, found none; restore it, or make "
                "the store again",
                reason="missing-file",
                file=file.name,
            ) from None
        if found != file.bytes:
            raise StoreError(
                f"expected {file.bytes:,} bytes, found {found:,}; copy the file again, or "
                "make the store again",
                reason="wrong-size",
                file=file.name,
            )
    return TokenStore(folder, manifest)


class TokenStore:
    """Documents as ids, by domain.

    A document is its begin id, its tokens and its end id, where the tokenizer has these; an empty
    text has no ids at all. Documents are numbered over the whole store: domain after domain, each
    in the order of the archive.
    """

    def __init__(self, folder: Path, manifest: StoreFile) -> None:
        self.folder = folder
        self.manifest = manifest
        self.tokenizer_hash = manifest.tokenizer.hash
        self.vocab_size = manifest.tokenizer.vocab_size
        self.begin = manifest.tokenizer.begin
        self.end = manifest.tokenizer.end
        self.dtype: np.dtype[Any] = np.dtype(manifest.dtype).newbyteorder("<")
        self.domains = tuple(domain.name for domain in manifest.domains)
        self.num_tokens = sum(domain.tokens for domain in manifest.domains)
        self.num_documents = sum(domain.documents for domain in manifest.domains)
        self._domains = tuple(_Domain.of(domain) for domain in manifest.domains)
        self._firsts = list(accumulate((d.entry.documents for d in self._domains), initial=0))
        most = min(_MOST_MAPPED, _open_files() // _PART_MAPPED)
        self._shard = lru_cache(maxsize=most)(self._open_shard)
        self._ids = lru_cache(maxsize=most)(self._map_ids)
        self._starts = lru_cache(maxsize=most)(self._map_starts)

    def __reduce__(self) -> tuple[Callable[[Path], TokenStore], tuple[Path]]:
        return open_store, (self.folder,)

    def __repr__(self) -> str:
        return (
            f"<barrow.tokens.TokenStore {str(self.folder)!r}: {self.num_tokens:,} tokens, "
            f"{self.num_documents:,} documents, {len(self.domains)} domains>"
        )

    @property
    def tokenizer_folder(self) -> Path:
        """The copy of the tokenizer, for `barrow.tokens.load`."""
        return self.folder / TOKENIZER

    @cached_property
    def identity(self) -> str:
        """A hash of the contents: of the files, in their order, and of the tokenizer."""
        import hashlib

        parts = [self.tokenizer_hash]
        for domain in self.manifest.domains:
            parts += [domain.name, *(shard.file.sha256 for shard in domain.shards)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    # Domains -------------------------------------------------------------------------------------

    def domain_place(self, name: str) -> int:
        """The place of a domain in `domains`."""
        if name not in self.domains:
            raise ValueError(f"the store has no domain {name!r}; {nearest(name, self.domains)}")
        return self.domains.index(name)

    def domain_tokens(self, domain: int) -> int:
        """Ids of a domain's documents."""
        return self._domain(domain).entry.tokens

    def domain_range(self, domain: int) -> range:
        """The numbers of a domain's documents: they follow one another."""
        self._domain(domain)
        return range(self._firsts[domain], self._firsts[domain + 1])

    def domain_documents(self, domain: int) -> npt.NDArray[np.int64]:
        """The numbers of a domain's documents, as an array; see `domain_range`."""
        numbers = self.domain_range(domain)
        return np.arange(numbers.start, numbers.stop, dtype=np.int64)

    def domain_starts(self, domain: int) -> npt.NDArray[np.int64]:
        """Where documents begin in the domain's own tokens, and the last ends; mapped."""
        self._domain(domain)
        return self._starts(domain)

    def _domain(self, domain: int) -> _Domain:
        if not 0 <= operator.index(domain) < len(self._domains):
            raise ValueError(f"domain must be from 0 to {len(self._domains) - 1}, got {domain}")
        return self._domains[domain]

    # Tokens --------------------------------------------------------------------------------------

    def read(
        self, domain: int, start: int, stop: int, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """Ids `start` to `stop` of a domain's own tokens.

        They are copied into `out` (of any integer dtype that holds them), where it is given; else
        they are a view of the mapped file where one file holds them all.
        """
        mine = self._domain(domain)
        if not 0 <= start <= stop <= mine.entry.tokens:
            raise ValueError(
                f"tokens {start:,} to {stop:,} of {mine.entry.name!r}, which has "
                f"{mine.entry.tokens:,}"
            )
        if out is not None and out.shape != (stop - start,):
            raise ValueError(f"out must have shape {(stop - start,)}, got {out.shape}")
        starts = mine.token_starts
        k = bisect_right(starts, start) - 1
        if k < len(mine.entry.shards) and stop <= starts[k + 1]:  # nearly always
            ids = self._ids(domain, k)[start - starts[k] : stop - starts[k]]
            if out is None:
                return ids
            out[:] = ids
            return out
        if out is None:
            out = np.empty(stop - start, self.dtype)
        at = start
        while at < stop:
            end = min(stop, starts[k + 1])
            out[at - start : end - start] = self._ids(domain, k)[at - starts[k] : end - starts[k]]
            at, k = end, k + 1
        return out

    # Documents -----------------------------------------------------------------------------------

    def document(self, number: int) -> DocumentEntry:
        """A document by its number."""
        if not 0 <= operator.index(number) < self.num_documents:
            raise ValueError(
                f"document must be from 0 to {self.num_documents - 1:,}, got {number:,}"
            )
        domain = bisect_right(self._firsts, number) - 1
        mine = self._domains[domain]
        place = number - self._firsts[domain]
        k = bisect_right(mine.document_starts, place) - 1
        row = place - mine.document_starts[k]
        shard = self._shard(domain, k)
        piece = shard.pieces[bisect_right(shard.document_starts, row) - 1]
        (offsets,) = shard.rows("offsets", row, row + 2)
        (identity,) = shard.rows("identity", row, row + 1)
        (within,) = shard.rows("number", row, row + 1)
        start, stop = offsets.tolist()
        source = self._sources.get(piece.source)
        if source is None:
            raise StoreError(
                f"a piece comes from {piece.source}, which store.json does not list",
                reason="bad-store-file",
                file=shard.path.name,
            )
        return DocumentEntry(
            number=number,
            domain=mine.entry.name,
            identity=name_of(identity[0]),
            archive_number=source[0] + int(within[0]),
            source=source[1],
            shard=shard.path.name,
            shard_start=start,
            start=mine.token_starts[k] + start,
            stop=mine.token_starts[k] + stop,
        )

    @cached_property
    def _sources(self) -> dict[str, tuple[int, str]]:
        """Of every source: the number of its first document, and its name."""
        # The same file twice has the same documents: the first counts for both.
        listed = reversed(self.manifest.corpus.sources)
        return {source.sha256[:32]: (source.first, source.name) for source in listed}

    def find(self, identity: str) -> int:
        """The number of the document with an id such as 0123456789abcdef-01234567.

        It is the first, if the archive has it several times.
        """
        found = self.find_all(identity)
        if not len(found):
            raise NotFound(f"no document of {self.folder} has the id {identity!r}")
        return int(found[0])

    def find_all(self, identity: str) -> npt.NDArray[np.int64]:
        """The numbers of all documents with an id, by looking through the ids of the store."""
        wanted = identity_of(identity)
        if not any(wanted):
            raise ValueError(
                "a document id must be 16 and 8 hexadecimal digits, as "
                f"0123456789abcdef-01234567, got {identity!r}"
            )
        found: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        for domain, mine in enumerate(self._domains):
            for k in range(len(mine.entry.shards)):
                shard = self._shard(domain, k)
                at = self._firsts[domain] + mine.document_starts[k]
                for rows in shard.rows("identity", 0, shard.document_starts[-1]):
                    same = (rows[:, 0] == wanted[0]) & (rows[:, 1] == wanted[1])
                    found.append(np.flatnonzero(same) + at)
                    at += len(rows)
        return np.concatenate(found)

    # Files ---------------------------------------------------------------------------------------

    def _open_shard(self, domain: int, k: int) -> TokenFile:
        entry = self._domains[domain].entry.shards[k]
        shard = TokenFile.open(self.folder / entry.file.name, self.dtype)
        if (shard.document_starts[-1], shard.token_starts[-1]) != (entry.documents, entry.tokens):
            raise StoreError(
                f"expected {entry.documents:,} documents and {entry.tokens:,} tokens, found "
                f"{shard.document_starts[-1]:,} and {shard.token_starts[-1]:,}",
                reason="bad-header",
                file=entry.file.name,
            )
        return shard

    def _map_ids(self, domain: int, k: int) -> npt.NDArray[Any]:
        return self._shard(domain, k).mapped()["ids"]

    def _map_starts(self, domain: int) -> npt.NDArray[np.int64]:
        entry = self._domains[domain].entry
        arrays, _ = map_arrays(self.folder / entry.index.name, {"starts": (np.dtype("<u8"), 1)})
        starts = arrays["starts"].view(np.int64)
        if len(starts) != entry.documents + 1 or int(starts[-1]) != entry.tokens:
            raise StoreError(
                f"expected {entry.documents + 1:,} offsets up to {entry.tokens:,}, found "
                f"{len(starts):,}, the last being {int(starts[-1]) if len(starts) else 'none'}",
                reason="bad-index",
                file=entry.index.name,
            )
        return starts


def _open_files() -> int:
    """How many files a process may have open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if limit == resource.RLIM_INFINITY else limit


@dataclass(frozen=True, slots=True)
class _Domain:
    """A domain, and where its shards begin, in documents and in tokens."""

    entry: DomainEntry
    document_starts: Sequence[int]
    token_starts: Sequence[int]

    @classmethod
    def of(cls, entry: DomainEntry) -> _Domain:
        shards: tuple[ShardEntry, ...] = entry.shards
        return cls(
            entry,
            list(accumulate((shard.documents for shard in shards), initial=0)),
            list(accumulate((shard.tokens for shard in shards), initial=0)),
        )
