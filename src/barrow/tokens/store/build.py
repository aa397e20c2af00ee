"""From an archive and a tokenizer to a token store."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from barrow.archive.storage import is_url
from barrow.engine import Engine, File, Progress, Stages, Store, Task
from barrow.files import (
    atomic_path,
    inside,
    link_or_copy,
    local_path,
    locked,
    make_folder,
    remove,
    remove_tree,
    remove_unfinished,
    sha256_of,
    sync_folder,
)
from barrow.tokens.store import encode, index, join
from barrow.tokens.store.known_pieces import (
    KnownPieces,
    Located,
    contents,
    pieces_of_store,
    pieces_of_task,
)
from barrow.tokens.store.pieces import plan_shards
from barrow.tokens.store.sources import Part, Source, absolute, cut, find_sources, split_path
from barrow.tokens.store.store import TokenStore, open_store
from barrow.tokens.store.store_file import (
    STORE,
    TOKENIZER,
    Corpus,
    DomainEntry,
    FileEntry,
    ShardEntry,
    Sizes,
    SourceEntry,
    StoreFile,
    TokenizerEntry,
    dtype_for,
    write_store_file,
)
from barrow.tokens.tokenizer import Tokenizer


def tokenize(
    corpus: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    split: str = "train",
    text_key: str = "text",
    engine: Engine | None = None,
    sizes: Sizes | None = None,
    progress: Progress | None = None,
) -> TokenStore:
    """Make the folder `out` the token store of an archive, and open it.

    `corpus` is a corpus, of which `split` is taken, or anything else that `barrow.archive.open`
    takes. An existing store is updated: files of the archive whose content it has are not tokenized
    again, and those that are gone are dropped. The bytes depend on the archive's files, the
    tokenizer and `sizes` only. A killed run resumes where it was. Without an `engine` the work is
    done in this process.
    """
    source, folder = os.fspath(corpus), local_path(out)
    refuse_other_folders(folder, source)
    path = split_path(source, split)
    make_folder(folder)
    with locked(folder):
        # Not before: the process that had the lock may just have finished another store.
        known = open_store(folder) if (folder / STORE).is_file() else None
        if known is not None:
            _refuse_other_settings(known, tokenizer, split, text_key, sizes)
            sizes = known.manifest.sizes
        making = _StoreBuilder(folder, known, tokenizer, sizes or Sizes(), progress or Progress())
        making.make(source, path, split, text_key, engine or Engine(num_workers=0))
    return open_store(folder)


def _refuse_other_settings(
    known: TokenStore, tokenizer: Tokenizer, split: str, text_key: str, sizes: Sizes | None
) -> None:
    if known.tokenizer_hash != tokenizer.hash:
        raise ValueError(
            f"{known.folder} was made with tokenizer {known.tokenizer_hash}, got "
            f"{tokenizer.hash}; choose another folder, or use the same tokenizer"
        )
    for what, old, new in (
        ("begin id", known.begin, tokenizer.begin),  # the hash does not cover these two
        ("end id", known.end, tokenizer.end),
        ("split", known.manifest.corpus.split, split),
        ("text_key", known.manifest.corpus.text_key, text_key),
        ("sizes", known.manifest.sizes, sizes or known.manifest.sizes),
    ):
        if old != new:
            raise ValueError(
                f"{known.folder} was made with {what} {old!r}, got {new!r}; choose another folder"
            )


class _StoreBuilder:
    """One run: its store of tasks, and the token store before it."""

    def __init__(
        self,
        folder: Path,
        known: TokenStore | None,
        tokenizer: Tokenizer,
        sizes: Sizes,
        progress: Progress,
    ) -> None:
        self._folder = folder
        self._known = known
        self._tokenizer = tokenizer
        self._sizes = sizes
        self._progress = progress
        self._dtype = dtype_for(tokenizer.vocab_size)
        reusable = known is not None and known.manifest.encoding == encode.ENCODE.version
        self._pieces = pieces_of_store(known) if known and reusable else KnownPieces()

    def make(self, corpus: str, path: str, split: str, text_key: str, engine: Engine) -> None:
        sources = find_sources(path, text_key=text_key, on_bytes=self._progress.on_bytes)
        store = Store(self._folder / WORK / "tasks")  # first: it marks the folder as ours
        files = self._tokenizer_files()
        with Stages(store, engine, self._progress) as stages:
            pieces = self._encode(sources, text_key, stages)
            by_domain: dict[str, list[Located]] = defaultdict(list)
            for located in (one for source in sources for one in pieces[source.key]):
                by_domain[located[0].domain].append(located)
            if not any(piece.tokens for group in by_domain.values() for piece, _ in group):
                raise ValueError(f"{path} has no text to tokenize; nothing was written")
            domains = self._join(dict(sorted(by_domain.items())), stages)
        counts = [sum(piece.documents for piece, _ in pieces[source.key]) for source in sources]
        firsts = accumulate(counts, initial=0)
        manifest = StoreFile(
            tokenizer=TokenizerEntry(
                hash=self._tokenizer.hash,
                vocab_size=self._tokenizer.vocab_size,
                begin=self._tokenizer.begin,
                end=self._tokenizer.end,
                files=files,
            ),
            dtype=self._dtype.name,
            sizes=self._sizes,
            encoding=encode.ENCODE.version,
            domains=domains,
            corpus=Corpus(
                path=absolute(corpus),
                split=split,
                text_key=text_key,
                manifest=_manifest_hash(corpus),
                sources=tuple(
                    SourceEntry(source.name, source.sha256, count, first)
                    for source, count, first in zip(sources, counts, firsts, strict=False)
                ),
            ),
        )
        if self._known is None or self._known.manifest != manifest:
            sync_folder(self._folder)
            write_store_file(self._folder, manifest)
        remove_unlisted(self._folder, {file.name for file in manifest.files()})
        remove_tree(self._folder / WORK)

    def _tokenizer_files(self) -> tuple[FileEntry, ...]:
        """Copy the tokenizer into the store, unless it is there."""
        if self._known is not None:
            return self._known.manifest.tokenizer.files
        folder = self._folder / TOKENIZER
        with atomic_path(folder, replace=True) as part:  # that of a killed run may be there
            self._tokenizer.save(part)
        return tuple(_file_entry(path) for path in sorted(folder.iterdir()))

    # Tokenizing ----------------------------------------------------------------------------------

    def _encode(
        self, sources: list[Source], text_key: str, stages: Stages
    ) -> dict[str, list[Located]]:
        """The pieces of every source, by its key, in the order of its documents."""
        known = self._pieces.by_source
        new = {source.key: source for source in sources if source.key not in known}
        parts = [part for s in new.values() for part in cut(s, self._sizes.part_bytes)]
        tasks = [self._encode_task(part, text_key) for part in parts]
        found: dict[str, list[Located]] = {key: [] for key in new}
        for part, result in zip(parts, stages.run("Tokenizing", tasks), strict=True):
            found[part.source.key] += pieces_of_task(result, self._dtype)
        return {**known, **found}

    def _encode_task(self, part: Part, text_key: str) -> Task[encode.Encoded]:
        last = "" if part.stop is None else f", documents {part.start:,} to {part.stop:,}"
        return encode.ENCODE.task(
            f"{part.source.name}{last}",
            encode.Settings(
                source=part.source.key,
                start=part.start,
                stop=part.stop,
                text_key=text_key,
                tokenizer=self._tokenizer.hash,
                begin=self._tokenizer.begin,
                end=self._tokenizer.end,
                dtype=self._dtype.name,
                buffer_bytes=self._sizes.buffer_bytes,
            ),
            encode.Inputs(
                documents=File(part.source.path, part.source.sha256),
                tokenizer=File(self._folder / TOKENIZER, self._tokenizer.hash),
            ),
            size=part.size,
        )

    # Joining -------------------------------------------------------------------------------------

    def _join(
        self, by_domain: Mapping[str, list[Located]], stages: Stages
    ) -> tuple[DomainEntry, ...]:
        """Make the shards and indices of every domain that are not there yet."""
        plans = [
            (name, shard)
            for name, pieces in by_domain.items()
            for shard in plan_shards(
                pieces, shard_bytes=self._sizes.shard_bytes, itemsize=self._dtype.itemsize
            )
        ]
        kept = [self._pieces.shards.get(contents(piece for piece, _ in s)) for _, s in plans]
        tasks = [
            self._join_task(name, shard)
            for (name, shard), old in zip(plans, kept, strict=True)
            if old is None
        ]
        results = iter(stages.run("Joining", tasks))
        shards: dict[str, list[ShardEntry]] = defaultdict(list)
        for (name, shard), old in zip(plans, kept, strict=True):
            stem = f"tokens-{slug(name)}-{len(shards[name]):05d}"
            if old is None:
                result = next(results)
                file = self._publish(result.tokens, result.entry, stem)
            else:
                file = self._keep(old, stem)
            documents = sum(piece.documents for piece, _ in shard)
            tokens = sum(piece.tokens for piece, _ in shard)
            shards[name].append(ShardEntry(file, documents, tokens))
        indices = self._index(shards, stages)
        return tuple(
            DomainEntry(
                name=name,
                documents=sum(shard.documents for shard in shards[name]),
                tokens=sum(shard.tokens for shard in shards[name]),
                text_bytes=sum(piece.text_bytes for piece, _ in by_domain[name]),
                index=indices[name],
                shards=tuple(shards[name]),
            )
            for name in by_domain
        )

    def _join_task(self, domain: str, shard: Sequence[Located]) -> Task[join.Joined]:
        return join.JOIN.task(
            f"{domain}, {len(shard):,} pieces",
            join.Settings(
                dtype=self._dtype.name,
                tokenizer=self._tokenizer.hash,
                begin=self._tokenizer.begin,
                end=self._tokenizer.end,
                rows=tuple(at.row for _, at in shard),
                sha256=tuple(at.sha256 for _, at in shard),
            ),
            tuple(File(at.file, piece.key) for piece, at in shard),
            size=sum(piece.tokens for piece, _ in shard) * self._dtype.itemsize,
        )

    def _index(
        self, shards: Mapping[str, list[ShardEntry]], stages: Stages
    ) -> dict[str, FileEntry]:
        """The index of every domain; one whose shards are those it had stays."""
        old = self._known.manifest.domains if self._known is not None else ()
        indices = {d.name: d.index for d in old if list(d.shards) == shards.get(d.name)}
        names = [name for name in shards if name not in indices]
        tasks = [self._index_task(name, shards[name]) for name in names]
        for name, result in zip(names, stages.run("Indexing", tasks), strict=True):
            indices[name] = self._publish(result.starts, result.entry, f"index-{slug(name)}")
        return indices

    def _index_task(self, domain: str, shards: list[ShardEntry]) -> Task[index.Indexed]:
        files = (File(self._folder / shard.file.name, shard.file.sha256) for shard in shards)
        return index.INDEX.task(
            f"index of {domain}",
            index.Settings(domain, self._dtype.name),
            tuple(files),
            size=8 * sum(shard.documents for shard in shards),
        )

    def _publish(self, file: File, entry: File, stem: str) -> FileEntry:
        """Give a task's output its name in the store; it is unused until store.json lists it."""
        written = join.load_written(entry)
        name = f"{stem}-{written.sha256[:8]}.safetensors"
        link_or_copy(file.path, inside(self._folder, name))
        return FileEntry(name, written.bytes, written.sha256)

    def _keep(self, old: FileEntry, stem: str) -> FileEntry:
        """A shard that stays, though there may be more or fewer before it now."""
        name = f"{stem}-{old.sha256[:8]}.safetensors"
        if name != old.name:
            link_or_copy(self._folder / old.name, inside(self._folder, name))
        return FileEntry(name, old.bytes, old.sha256)


def _file_entry(path: Path) -> FileEntry:
    return FileEntry(path.name, path.stat().st_size, sha256_of(path))


def _manifest_hash(corpus: str) -> str | None:
    path = Path(corpus) / "manifest.json"
    if is_url(corpus) or not path.is_file():
        return None
    return sha256_of(path)


WORK = ".work"


def refuse_other_folders(out: Path, corpus: str) -> None:
    """Raise unless a folder is new, empty or a store, and outside the corpus."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; pass a folder for the token store")
    if not is_url(corpus) and Path(corpus).is_dir():
        read, written = Path(corpus).resolve(), out.resolve()
        if read == written or read in written.parents:
            raise ValueError(f"{out} is inside the corpus {corpus}; choose a folder outside it")
    ours = (out / WORK).is_dir() or (out / STORE).is_file()
    if out.is_dir() and any(out.iterdir()) and not ours:
        raise FileExistsError(f"{out} is not empty and is not a token store; choose another folder")


def slug(name: str) -> str:
    """A domain's name as part of a file's name; not unique."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "domain"


def remove_unlisted(folder: Path, listed: Collection[str]) -> None:
    """Remove arrays that the store no longer has, and what killed runs left."""
    remove_unfinished(folder)
    for path in folder.glob("*.safetensors"):
        if path.name not in listed:
            remove(path)
