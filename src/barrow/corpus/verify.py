"""Checks that a corpus matches its manifest and has nothing that was taken down.

Besides what `barrow.archive.verify` finds in its archives, the reasons are: ``bad-manifest`` (it
lists other shards, or counts other documents), ``bad-facts`` (a file of the index is missing, or of
other documents, or clusters are wrong), ``taken-down`` (a document or reject that the list of
takedowns names), ``bad-records`` (the records of takedowns were changed, or do not fit the list),
``bad-recipe`` (it is not the one that the manifest names), ``interrupted-takedown``, and
``unexpected-file`` (something that is not part of a corpus).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow.archive import Verification
from barrow.archive.block import Block
from barrow.archive.catalog import ShardEntry, read_catalog
from barrow.archive.document import identity_of
from barrow.config import parse_json
from barrow.corpus.build.facts import Facts, load_facts
from barrow.corpus.build.gather import count_documents, found_languages
from barrow.corpus.build.publish import INDEX, index_name
from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.minhash import band_hashes, shingle_hashes
from barrow.corpus.folder import (
    RECIPE,
    REJECTS,
    WORK,
    archive_folders,
    refuse_changed_recipe,
    rejects_folder,
)
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import word_hashes
from barrow.corpus.manifest import MANIFEST, composition, num_reject_records, total_by_domain
from barrow.corpus.mixture import SPLITS
from barrow.corpus.report.datasheet import DATASHEET
from barrow.corpus.report.page import REPORT
from barrow.corpus.takedown.commit import PLAN, RECORDS, STAGING
from barrow.corpus.takedown.find import DocumentMeta, matches
from barrow.corpus.takedown.rules import LIST, TAKEN_DOWN, Matcher, load_list
from barrow.corpus.times import TIMES, TIMES_PAGE
from barrow.errors import ConfigError, DamagedShard
from barrow.files import inside

_METAS = msgspec.json.Decoder(list[DocumentMeta])


def verify_corpus(
    corpus: Path, *, deep: bool = False, on_progress: Callable[[int], None] | None = None
) -> Verification:
    """Check the archives of a corpus, its manifest, its index, and that takedowns hold.

    All problems are collected. `on_progress` is called with bytes done.
    """
    check = _Check(corpus, on_progress or (lambda _: None), deep)
    check.run()
    return check.result


@dataclass
class _Check:
    corpus: Path
    on_progress: Callable[[int], None]
    deep: bool
    result: Verification = field(default_factory=Verification)
    matcher: Matcher | None = None
    # Of documents, the first half of the id, the cluster and the split; of rejects, first halves of
    # ids, and of those of the documents that near-duplicates were removed for.
    clustered: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    rejected: set[int] = field(default_factory=set)
    preferred: set[int] = field(default_factory=set)

    def run(self) -> None:
        folders = archive_folders(self.corpus)
        rejects = rejects_folder(self.corpus)
        whole = {folder for folder in (*folders.values(), rejects) if self._archive(folder)}
        self._takedowns()
        self._strangers([*folders.values(), *([rejects] if rejects is not None else [])])
        try:
            manifest = parse_json((self.corpus / MANIFEST).read_bytes(), MANIFEST)
            splits = {name: part["shards"] for name, part in manifest["splits"].items()}
            domains = {name: part["domains"] for name, part in manifest["splits"].items()}
            num_rejects = num_reject_records(manifest)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._problem(MANIFEST, "bad-manifest", f"not a manifest ({error!r})")
            return
        try:
            refuse_changed_recipe(self.corpus / RECIPE)
        except ConfigError as error:
            self._problem(RECIPE, "bad-recipe", str(error))
        for split in SPLITS:
            if (split in folders) != (split in splits):
                where = "the manifest" if split in splits else "the folder"
                self._problem(MANIFEST, "bad-manifest", f"only {where} has the split {split!r}")
            elif split in folders and folders[split] in whole:
                shards = [msgspec.to_builtins(shard) for shard in _shards(folders[split])]
                if shards != splits[split]:
                    self._problem(MANIFEST, "bad-manifest", f"it lists other shards of {split!r}")
                if self._documents(split, folders[split]) != domains[split]:
                    self._problem(MANIFEST, "bad-manifest", f"the composition of {split!r} differs")
        if rejects in whole and rejects is not None:
            found = self._rejects(rejects)
            if found != num_rejects:
                cause = f"{found:,} rejects; it lists {num_rejects:,}"
                self._problem(MANIFEST, "bad-manifest", cause)
            self._clusters()

    def _archive(self, folder: Path | None) -> bool:
        if folder is None:
            return False
        part = barrow.archive.verify(folder, deep=self.deep, on_progress=self.on_progress)
        for name in ("num_shards", "num_frames", "num_documents", "num_bytes", "problems"):
            setattr(self.result, name, getattr(self.result, name) + getattr(part, name))
        return part.ok

    def _takedowns(self) -> None:
        """The list of takedowns, and whether its records are unchanged."""
        try:
            known = load_list(self.corpus)
        except ConfigError as error:
            self._problem(LIST, "bad-records", str(error))
            return
        records = self.corpus / RECORDS
        data = records.read_bytes() if records.exists() else b""
        if (known is not None) != bool(data):
            self._problem(RECORDS, "bad-records", f"{LIST} and {RECORDS} do not belong together")
        at = 0
        for number, line in enumerate(data.splitlines(keepends=True)):
            try:
                previous = parse_json(line, RECORDS)["previous_records"]
            except (ValueError, KeyError, TypeError):
                previous = None
            if previous != hashlib.sha256(data[:at]).hexdigest():
                self._problem(RECORDS, "bad-records", f"those before record {number} were changed")
            at += len(line)
        if known is not None:
            self.matcher = Matcher(known.rules)

    def _strangers(self, folders: list[Path]) -> None:
        """Files that are not part of a corpus."""
        if (self.corpus / STAGING).exists():
            decided = (self.corpus / STAGING / PLAN).exists()
            self._problem(
                STAGING,
                "interrupted-takedown",
                "a takedown was interrupted "
                + ("after it was decided" if decided else "before anything was changed")
                + "; the next barrow corpus takedown, or build, "
                + ("completes it" if decided else "clears it away"),
            )
        known = {
            MANIFEST,
            RECIPE,
            DATASHEET,
            REPORT,
            TIMES,
            TIMES_PAGE,
            LIST,
            RECORDS,
            WORK,
            STAGING,
            REJECTS,
            *SPLITS[1:],
        }
        for folder in folders:
            listed = {shard.name for shard in _listed(folder)}
            expected = {"archive.json", *listed} | (known if folder == self.corpus else set())
            if folder != self.corpus / REJECTS:
                expected.add(INDEX)
            index = {index_name(name) for name in listed}
            for path in _files(folder):
                if path.name not in expected:
                    self._problem(self._name(path), "unexpected-file", "not part of a corpus")
            for path in _files(folder / INDEX) if INDEX in expected else ():
                if path.name not in index:
                    self._problem(
                        self._name(path), "unexpected-file", "of a shard that is not listed"
                    )

    def _documents(self, split: str, folder: Path) -> dict[str, Any]:
        """Check the documents of a split; its composition."""
        counted = []
        scratch = Scratch()
        for entry in _shards(folder):
            path = folder / INDEX / index_name(entry.name)
            facts = None
            try:
                facts = load_facts(inside(folder, f"{INDEX}/{path.name}"))
            except Exception as error:  # noqa: BLE001 - any error is reported
                self._problem(self._name(path), "bad-facts", f"cannot be read ({error})")
            if facts is not None and len(facts) != entry.documents:
                cause = f"{len(facts):,} documents; the shard has {entry.documents:,}"
                self._problem(self._name(path), "bad-facts", cause)
                facts = None
            if facts is not None:
                number = np.full(len(facts), SPLITS.index(split), np.uint64)
                self.clustered.append(np.stack([facts.identity[:, 0], facts.cluster, number]))
            found = [None] * entry.documents if facts is None else found_languages(facts)
            for block in barrow.archive.open(folder / entry.name).blocks():
                metas = _METAS.decode(block.meta_array())
                sizes = np.diff(block.offsets).tolist()
                languages = found[block.numbers[0] : block.numbers[0] + len(block)]
                counted.append(count_documents(metas, sizes, languages))
                self._taken(folder / entry.name, block, metas)
                if facts is not None and not _same(facts, block, metas, scratch):
                    cause = f"other documents than frame {block.frame} of the shard"
                    self._problem(self._name(path), "bad-facts", cause)
        return composition(total_by_domain(counted))

    def _rejects(self, folder: Path) -> int:
        number = 0
        for entry in _shards(folder):
            for block in barrow.archive.open(folder / entry.name).blocks():
                number += len(block)
                metas = _METAS.decode(block.meta_array())
                self._taken(folder / entry.name, block, metas, is_excerpt=True)
                self.rejected |= {identity_of(meta.id)[0] for meta in metas if meta.id}
                self.preferred |= {
                    identity_of(meta.cause.rpartition(" ")[2])[0]
                    for meta in metas
                    if meta.reason == "near-duplicate"
                }
        return number

    def _clusters(self) -> None:
        """A cluster is in one split, and named after a document in it; near-duplicates were removed
        only for documents in a cluster.
        """
        own, cluster, split = np.concatenate([np.empty((3, 0), np.uint64), *self.clustered], axis=1)
        names = np.unique(cluster[cluster != 0])
        places = np.unique(np.stack([cluster, split])[:, cluster != 0], axis=1)[0]
        preferred = np.intersect1d(own, np.array(list(self.preferred), np.uint64))
        wrong = {
            "is in several splits": places[1:][places[1:] == places[:-1]],
            "is not the cluster of the document it is named after": np.setdiff1d(
                np.intersect1d(names, own), own[cluster == own]
            ),
            "has near-duplicates and is in no cluster": np.setdiff1d(preferred, own[cluster != 0]),
        }
        # Those of a finished corpus, and those taken down, name clusters too.
        if self.matcher is None and not _compared(self.corpus / RECIPE):
            known = np.concatenate([own, np.array(list(self.rejected), np.uint64)])
            wrong["is named after no document of the corpus"] = np.setdiff1d(names, known)
        for cause, found in wrong.items():
            for name in found.tolist():
                self._problem(INDEX, "bad-facts", f"{name:016x} {cause}")

    def _taken(
        self, path: Path, block: Block, metas: list[DocumentMeta], *, is_excerpt: bool = False
    ) -> None:
        """No document may match what was taken down; for an excerpt, part of a text is enough."""
        if self.matcher is None:
            return
        found = self.matcher.texts_match(block, any_ngram=is_excerpt)
        for i, meta in enumerate(metas):
            trace = meta.reason == TAKEN_DOWN and block.offsets[i] == block.offsets[i + 1]
            if not trace and (found[i] or matches(self.matcher, meta)):
                self._problem(
                    self._name(path),
                    "taken-down",
                    f"{meta.id or 'a reject'} is on the list of takedowns",
                    document=block.numbers[i],
                )

    def _name(self, path: Path) -> str:
        return path.relative_to(self.corpus).as_posix()

    def _problem(self, name: str, reason: str, cause: str, document: int | None = None) -> None:
        self.result.problems.append(
            DamagedShard(cause, reason=reason, shard=name, document=document)
        )


def _same(facts: Facts, block: Block, metas: list[DocumentMeta], scratch: Scratch) -> bool:
    """Whether facts are those of the documents of a block."""
    here = slice(block.numbers[0], block.numbers[-1] + 1) if len(block) else slice(0, 0)
    identity = np.array([identity_of(meta.id) for meta in metas], np.uint64).reshape(-1, 2)
    names = [facts.domains[k] for k in facts.domain[here] if k < len(facts.domains)]
    shingles = shingle_hashes(word_hashes(block.text, block.offsets, scratch), scratch)
    return (
        np.array_equal(facts.identity[here], identity)
        and np.array_equal(facts.size[here], np.diff(block.offsets))
        and np.array_equal(facts.content[here], content_hashes(block.text, block.offsets))
        and np.array_equal(facts.bands[here], band_hashes(shingles))
        and names == [meta.pile_set_name for meta in metas]
    )


def _compared(recipe: Path) -> bool:
    """Whether a recipe compares its documents with other corpora, or cannot be read."""
    try:
        deduplication = parse_json(recipe.read_bytes(), RECIPE)["deduplication"]
        return bool(deduplication and deduplication["against"])
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _shards(folder: Path) -> tuple[ShardEntry, ...]:
    return read_catalog(str(folder)).shards


def _listed(folder: Path) -> tuple[ShardEntry, ...]:
    try:
        return _shards(folder)
    except DamagedShard:  # reported already
        return ()


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.iterdir()) if folder.is_dir() else ())
