"""`store.json`: what a token store consists of.

Files that it does not list are not part of the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from barrow.errors import NotFound, StoreError, UnsafeName
from barrow.files import inside, portable, resolved, write_bytes

STORE = "store.json"
TOKENIZER = "tokenizer"
FORMAT = "barrow-tokens"
VERSION = 1


class Sizes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sizes of parts; two stores of the same documents are equal only if these are.

    A task tokenizes about `part_bytes` of JSON lines and holds `buffer_bytes` of what comes out; a
    shard has about `shard_bytes` of ids.
    """

    part_bytes: int = 1 << 26
    buffer_bytes: int = 1 << 25
    shard_bytes: int = 1 << 28


class FileEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the store, and what its bytes should be."""

    name: str
    bytes: int
    sha256: str


class ShardEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shard: documents of one domain."""

    file: FileEntry
    documents: int
    tokens: int


class DomainEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A domain: its shards in their order, and the file of where its documents begin."""

    name: str
    documents: int
    tokens: int
    text_bytes: int
    index: FileEntry
    shards: tuple[ShardEntry, ...]


class SourceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the archive; `first` is the number of its first document in the whole archive."""

    name: str
    sha256: str
    documents: int
    first: int


class Corpus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the store was made from; `manifest` is the SHA-256 of a corpus's manifest.json."""

    path: str
    split: str
    text_key: str
    manifest: str | None
    sources: tuple[SourceEntry, ...]


class TokenizerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokenizer of the ids: `hash` identifies it, `files` are the copy beside the store."""

    hash: str
    vocab_size: int
    begin: int | None
    end: int | None
    files: tuple[FileEntry, ...]


class StoreFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of store.json."""

    tokenizer: TokenizerEntry
    dtype: str
    sizes: Sizes
    encoding: int
    domains: tuple[DomainEntry, ...]
    corpus: Corpus
    format: str = FORMAT
    version: int = VERSION

    def files(self) -> list[FileEntry]:
        """Every file listed, but for the tokenizer's."""
        return [
            file
            for domain in self.domains
            for file in (domain.index, *(shard.file for shard in domain.shards))
        ]


class _Stamp(msgspec.Struct):
    format: Any = None
    version: Any = None


def dtype_for(vocab_size: int) -> np.dtype[Any]:
    """The narrowest dtype of ids."""
    return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")


def read_store_file(folder: Path) -> StoreFile:
    """The store.json of a folder, checked; not the files it lists."""
    path = folder / STORE
    if not path.is_file():
        hint = "no such folder" if not folder.is_dir() else f"it has no {STORE}"
        raise NotFound(f"{folder} is not a token store: {hint}; barrow tokenize makes one")
    data = path.read_bytes()
    try:
        stamp = msgspec.json.decode(data, type=_Stamp)
        if (stamp.format, stamp.version) != (FORMAT, VERSION):
            raise _bad(
                f"expected format {FORMAT!r} version {VERSION}, found {stamp.format!r} version "
                f"{stamp.version!r}; a newer barrow may read it"
            )
        manifest = msgspec.json.decode(data, type=StoreFile)
    except (ValueError, RecursionError) as error:
        raise _bad(
            f"expected the {STORE} of a token store, found something else ({error})"
        ) from None
    if manifest.dtype != str(dtype_for(manifest.tokenizer.vocab_size).name):
        raise _bad(f"dtype {manifest.dtype!r} does not hold {manifest.tokenizer.vocab_size:,} ids")
    names = [file.name for file in manifest.files()]
    if len(set(names)) < len(names):
        raise _bad("a file is listed twice")
    try:
        for name in names:
            inside(folder, name)
        for file in manifest.tokenizer.files:
            inside(inside(folder, TOKENIZER), file.name)
    except UnsafeName as error:
        raise _bad(str(error)) from None
    domains = [domain.name for domain in manifest.domains]
    if domains != sorted(set(domains)):
        raise _bad("its domains are not each listed once, in the order of their names")
    for domain in manifest.domains:
        for counted in ("documents", "tokens"):
            if getattr(domain, counted) != sum(getattr(shard, counted) for shard in domain.shards):
                raise _bad(f"the {counted} of {domain.name!r} are not the sum over its shards")
    return _of_corpus(manifest, resolved(manifest.corpus.path, folder))


def write_store_file(folder: Path, manifest: StoreFile) -> None:
    """Write store.json atomically; the corpus relative to the folder."""
    made = _of_corpus(manifest, portable(manifest.corpus.path, folder))
    data = msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"
    write_bytes(folder / STORE, data)


def _of_corpus(manifest: StoreFile, path: str) -> StoreFile:
    corpus = msgspec.structs.replace(manifest.corpus, path=path)
    return msgspec.structs.replace(manifest, corpus=corpus)


def _bad(cause: str) -> StoreError:
    return StoreError(cause, reason="bad-store-file", file=STORE)
