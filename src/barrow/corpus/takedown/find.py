"""Finding what a takedown removes: documents in all splits, and the excerpts of rejects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow.archive.block import Block
from barrow.archive.catalog import ShardEntry, read_catalog
from barrow.archive.document import identity_of, name_of
from barrow.corpus.build.facts import load_columns, load_facts, load_names
from barrow.corpus.build.gather import CountedMeta, count_documents, found_languages
from barrow.corpus.build.publish import INDEX, index_name
from barrow.corpus.folder import archive_folders, rejects_folder
from barrow.corpus.takedown.rules import TAKEN_DOWN, Matcher, Rules, place_of
from barrow.errors import ConfigError, NotFound
from barrow.files import inside

Mask = npt.NDArray[np.bool_]
Statistics = dict[str, dict[str, int]]

_EXAMPLES = 5
_COPIES = ("duplicate", "near-duplicate", "same-url")


class DocumentMeta(CountedMeta):
    """The keys of a meta that a takedown needs."""

    id: str = ""
    url: Any = None
    source: str = ""
    member: Any = ""
    title: Any = None
    reason: str = ""
    cause: str = ""


_METAS = msgspec.json.Decoder(list[DocumentMeta])


def matches(matcher: Matcher, meta: DocumentMeta) -> bool:
    """Whether a meta matches, without the text."""
    return matcher.meta_matches(
        identity=meta.id,
        url=meta.url,
        domain=meta.pile_set_name,
        licence=meta.licence,
        source=meta.source,
        member=meta.member,
    )


@dataclass
class Finding:
    """What a takedown removes.

    `documents`, by split and shard, and `rejects`, by shard, are what to remove; other shards are
    not listed. `statistics` count the documents by split, as a build does. `rejects_by_domain`
    counts rejects. `examples` are the first documents, in words. `copies` are documents that stay
    although they have the text of a removed one, `rejected_copies` the ids of those that
    deduplication dropped in favour of a removed one. `ids` are of all removed documents, `found` of
    those that the rules match, `places` where removed documents were read, by id.
    """

    documents: dict[str, dict[str, Mask]] = field(default_factory=dict)
    rejects: dict[str, Mask] = field(default_factory=dict)
    statistics: dict[str, list[Statistics]] = field(default_factory=lambda: defaultdict(list))
    rejects_by_domain: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    copies: int = 0
    rejected_copies: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    places: dict[str, str] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    is_everything: bool = False

    @property
    def num_documents(self) -> int:
        """Documents to remove."""
        return sum(int(m.sum()) for shards in self.documents.values() for m in shards.values())

    @property
    def num_rejects(self) -> int:
        """Rejects to remove."""
        return sum(int(mask.sum()) for mask in self.rejects.values())

    def by_domain(self, split: str) -> dict[str, int]:
        """Documents to remove, by domain."""
        total: Counter[str] = Counter()
        for statistics in self.statistics[split]:
            total.update({name: counts["documents"] for name, counts in statistics.items()})
        return dict(sorted(total.items()))


def find_taken(corpus: Path, rules: Rules, *, and_copies: bool = False) -> Finding:
    """Search a corpus; with `and_copies`, documents with the same text are removed too."""
    for licence in rules.licences:
        if "*" in licence:  # it would take nothing down, without a word among other rules
            raise ConfigError(
                f"expected a licence as the corpus names it, got the pattern {licence!r}; "
                f"`barrow corpus stats {corpus} --by licence` lists the names"
            )
    return _Search(corpus, Matcher(rules), and_copies).run()


@dataclass
class _Search:
    corpus: Path
    matcher: Matcher
    and_copies: bool
    finding: Finding = field(default_factory=Finding)
    _contents: set[tuple[int, int]] = field(default_factory=set)

    def run(self) -> Finding:
        finding = self.finding
        masks = {
            (split, entry.name): self._matching(folder, entry)
            for split, folder, entry in self._shards()
        }
        for split, folder, entry in self._shards():
            self._note_contents(folder, entry, masks[split, entry.name])
        copies = {
            (split, entry.name): self._copies(folder, entry)
            for split, folder, entry in self._shards()
        }
        for key, mask in masks.items():
            finding.copies += int((copies[key] & ~mask).sum())
            if self.and_copies:
                mask |= copies[key]
        if self.and_copies:
            finding.copies = 0
        finding.is_everything = bool(masks) and all(mask.all() for mask in masks.values())
        finding.is_everything &= any(mask.size for mask in masks.values())
        for split, folder, entry in self._shards():
            mask = masks[split, entry.name]
            if mask.any():
                finding.documents.setdefault(split, {})[entry.name] = mask
                self._collect(split, folder, entry, mask)
        finding.found |= finding.ids & self.matcher.ids
        self._find_rejects()
        self._forget_shared_places(masks)
        return finding

    def _forget_shared_places(self, masks: dict[tuple[str, str], Mask]) -> None:
        """Drop the places that documents which stay were read from, too."""
        halves: dict[int, list[str]] = defaultdict(list)
        for name in self.finding.places:
            halves[identity_of(name)[1]].append(name)
        for split, folder, entry in self._shards():
            identity = load_columns(_index_of(folder, entry), ("identity",))["identity"]
            stay = identity[~masks[split, entry.name], 1]
            for half in np.unique(stay[np.isin(stay, np.array(list(halves), np.uint64))]).tolist():
                for name in halves.pop(half, ()):
                    del self.finding.places[name]

    def _shards(self) -> Iterator[tuple[str, Path, ShardEntry]]:
        for split, folder in archive_folders(self.corpus).items():
            for entry in read_catalog(str(folder)).shards:
                yield split, folder, entry

    def _matching(self, folder: Path, entry: ShardEntry) -> Mask:
        if self.matcher.needs_documents:
            blocks = barrow.archive.open(folder / entry.name).blocks()
            return np.concatenate([np.zeros(0, np.bool_), *(self._in_block(b) for b in blocks)])
        index = _index_of(folder, entry)
        columns = load_columns(index, ("identity", "domain"))
        names = load_names(index)[0]
        taken = np.array([self.matcher.meta_matches(domain=name) for name in [*names, ""]])
        mask: Mask = taken[columns["domain"]] if names else np.zeros(entry.documents, np.bool_)
        mask |= _is_in(columns["identity"], {identity_of(name) for name in self.matcher.ids})
        halves = np.array([int(half, 16) for half in self.matcher.contents], np.uint64)
        return mask | np.isin(columns["identity"][:, 0], halves)

    def _in_block(self, block: Block) -> Mask:
        metas = _METAS.decode(block.meta_array()) if len(block) else []
        return self.matcher.texts_match(block) | [matches(self.matcher, meta) for meta in metas]

    def _note_contents(self, folder: Path, entry: ShardEntry, mask: Mask) -> None:
        if mask.any():
            content = load_columns(_index_of(folder, entry), ("content",))["content"][mask]
            self._contents |= set(map(tuple, content.tolist()))

    def _copies(self, folder: Path, entry: ShardEntry) -> Mask:
        if not self._contents and not self.matcher.ids:
            return np.zeros(entry.documents, np.bool_)
        columns = load_columns(_index_of(folder, entry), ("content", "identity"))
        halves = np.array([identity_of(name)[0] for name in self.matcher.ids], np.uint64)
        return _is_in(columns["content"], self._contents) | np.isin(
            columns["identity"][:, 0], halves
        )

    def _collect(self, split: str, folder: Path, entry: ShardEntry, mask: Mask) -> None:
        """Record the traces of removed documents, and count them."""
        metas: list[DocumentMeta] = []
        sizes: list[int] = []
        languages: list[str | None] = []
        first = 0
        facts = load_facts(_index_of(folder, entry))
        identity, found = facts.identity, found_languages(facts)
        for block in barrow.archive.open(folder / entry.name).blocks():
            here = np.flatnonzero(mask[first : first + len(block)]).tolist()
            if here:
                decoded = _METAS.decode(block.meta_array())
                metas += [decoded[i] for i in here]
                sizes += np.diff(block.offsets)[here].tolist()
                languages += [found[first + i] for i in here]
                for i in here:
                    if decoded[i].id != name_of(identity[first + i]):
                        raise NotFound(
                            f"{folder / entry.name} has the index of another shard; build it again"
                        )
            first += len(block)
        finding = self.finding
        finding.statistics[split].append(count_documents(metas, sizes, languages))
        finding.ids |= {meta.id for meta in metas}
        finding.places |= {meta.id: place_of(meta.source, meta.member) for meta in metas}
        for meta in islice(metas, _EXAMPLES - len(finding.examples)):
            finding.examples.append(_in_words(split, meta))

    def _find_rejects(self) -> None:
        """Rejects that match, those of removed documents, and their dropped copies."""
        folder = rejects_folder(self.corpus)
        if folder is None:
            return
        shards = read_catalog(str(folder)).shards
        gone = set(self.finding.ids)
        masks: dict[str, Mask] = {s.name: np.zeros(s.documents, np.bool_) for s in shards}
        while True:
            before = len(gone)
            for shard in shards:
                self._in_rejects(folder / shard.name, masks[shard.name], gone)
            if len(gone) == before:
                break
        self.finding.rejects = {name: mask for name, mask in masks.items() if mask.any()}

    def _in_rejects(self, path: Path, mask: Mask, gone: set[str]) -> None:
        first = 0
        matcher, finding = self.matcher, self.finding
        halves = {name[:16] for name in (*finding.ids, *matcher.ids)}
        places = {place for name, place in finding.places.items() if name in finding.ids}
        for block in barrow.archive.open(path).blocks():
            here = mask[first : first + len(block)]
            # A reject may be cut off: part of a text is enough.
            shown = matcher.texts_match(block, any_ngram=True)
            for i, meta in enumerate(_METAS.decode(block.meta_array()) if len(block) else ()):
                if here[i] or meta.reason == TAKEN_DOWN:
                    continue
                by_rule = matches(matcher, meta)
                is_copy = meta.id[:16] in halves or (
                    meta.reason in _COPIES and meta.cause.rpartition(" ")[2] in gone
                )
                if not (
                    by_rule
                    or shown[i]
                    or is_copy
                    or meta.id in gone
                    or place_of(meta.source, meta.member) in places
                ):
                    continue
                here[i] = True
                finding.rejects_by_domain[meta.pile_set_name] += 1
                if meta.id:
                    gone.add(meta.id)
                    finding.places.setdefault(meta.id, place_of(meta.source, meta.member))
                if meta.id in matcher.ids:
                    finding.found.add(meta.id)
                elif meta.id and is_copy and not by_rule and not shown[i]:
                    finding.rejected_copies.add(meta.id)
            first += len(block)


def _index_of(folder: Path, entry: ShardEntry) -> Path:
    path = inside(folder, f"{INDEX}/{index_name(entry.name)}")
    if not path.exists():
        raise NotFound(f"{path} is missing; build the corpus again")
    return path


def _is_in(rows: npt.NDArray[np.uint64], wanted: set[tuple[int, int]]) -> Mask:
    """Which pairs of numbers are in a set; the first numbers rule out most."""
    mask = np.zeros(len(rows), np.bool_)
    if wanted:
        likely = np.isin(rows[:, 0], np.array([first for first, _ in wanted], np.uint64))
        for at in np.flatnonzero(likely).tolist():
            mask[at] = (int(rows[at, 0]), int(rows[at, 1])) in wanted
    return mask


def _in_words(split: str, meta: DocumentMeta) -> str:
    what = meta.title or meta.url or f"{meta.source} {meta.member}".strip()
    return f"{meta.id}  {split}, {meta.pile_set_name}: {what}"
