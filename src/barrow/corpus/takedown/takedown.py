"""Takedowns: rewrite the shards concerned, extend the list of takedowns, write a record.

Afterwards nothing under the corpus folder holds what was removed: no shard, no excerpt of a reject,
no intermediate result of the build. `barrow.corpus.takedown.commit` makes this safe against kills.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from barrow import config
from barrow.ahead import available_cores
from barrow.archive import Writer
from barrow.archive.catalog import ShardEntry, read_catalog
from barrow.archive.shard import shard_lines
from barrow.corpus.build.facts import Facts, load_facts, save_facts
from barrow.corpus.build.publish import INDEX, index_name
from barrow.corpus.folder import REJECTS, WORK, archive_folders
from barrow.corpus.manifest import MANIFEST, composition
from barrow.corpus.takedown.commit import (
    RECORDS,
    STAGING,
    ArchivePlan,
    Plan,
    complete_interrupted,
    decide,
)
from barrow.corpus.takedown.find import Finding, Mask
from barrow.corpus.takedown.rules import Rules, TakedownList, load_list
from barrow.corpus.takedown.texts import words_scheme
from barrow.errors import NotFound
from barrow.files import make_folder, new_folder, rename, sync_tree


def take_down(
    corpus: Path,
    rules: Rules,
    finding: Finding,
    *,
    reason: str,
    by: str,
    date: str,
    and_copies: bool = False,
) -> dict[str, Any]:
    """Remove what the rules found; return the record.

    The caller holds the lock of the folder (`files.locked`) since before the search. `reason`, `by`
    (who approved it) and `date` are copied into the record; all else that is written depends on the
    corpus and the rules alone.
    """
    if not finding.num_documents and not finding.num_rejects:
        raise NotFound("no document matches; nothing to take down")
    refuse_read_only(corpus)
    complete_interrupted(corpus)
    new_folder(corpus / STAGING)
    archives = [
        _stage(corpus, split, finding.documents[split])
        for split in reversed(archive_folders(corpus))
        if split in finding.documents
    ]
    if finding.rejects:
        archives.insert(0, _stage(corpus, REJECTS, finding.rejects))
    old = (corpus / MANIFEST).read_bytes()
    new_manifest = _manifest_after(
        config.parse_json(old, corpus / MANIFEST),
        finding,
        {archive.folder: archive.shards for archive in archives},
    )
    manifest = json.dumps(new_manifest, indent=1, ensure_ascii=False) + "\n"
    remembered = _remembered(rules, finding, and_copies=and_copies)
    known = load_list(corpus)
    together = remembered | known.rules if known is not None else remembered | Rules()
    records = corpus / RECORDS
    before = records.read_bytes() if records.exists() else b""
    record = {
        "date": date,
        "by": by,
        "reason": reason,
        "rules": _rules_in_short(rules),
        "and_copies": and_copies,
        "documents": {split: finding.by_domain(split) for split in finding.documents},
        "rejects": dict(sorted(finding.rejects_by_domain.items())),
        "ids": sorted(finding.ids | (finding.rejected_copies if and_copies else set())),
        "before": {"version": json.loads(old)["version"], "sha256": _sha256(old)},
        "after": {"version": new_manifest["version"], "sha256": _sha256(manifest.encode())},
        "previous_records": _sha256(before),
    }
    plan = Plan(
        archives=tuple(archives),
        takedown_list=config.to_json(
            TakedownList(
                new_manifest["version"], together, words_scheme() if together.texts else ""
            )
        ),
        manifest=manifest,
        record=json.dumps(record, ensure_ascii=False),
        records_size=len(before),
    )
    decide(corpus, plan)
    complete_interrupted(corpus)
    return record


def refuse_read_only(corpus: Path) -> None:
    """Raise if something that a takedown changes cannot be written."""
    folders = [corpus, corpus / REJECTS, corpus / WORK, *archive_folders(corpus).values()]
    for folder in [*folders, *(folder / INDEX for folder in folders)]:
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            raise PermissionError(f"{folder} cannot be written; nothing was changed")


def _stage(corpus: Path, name: str, masks: Mapping[str, Mask]) -> ArchivePlan:
    """Rewrite the shards of an archive without the removed documents."""
    place = "" if name == "train" else name
    folder, staged = corpus / place, corpus / STAGING / place
    make_folder(staged)
    shards: list[ShardEntry] = []
    for entry in read_catalog(str(folder)).shards:
        if entry.name not in masks:
            shards.append(entry)
        elif not masks[entry.name].all():
            shards.append(_without(folder, entry, masks[entry.name], staged))
    sync_tree(staged)
    return ArchivePlan(place, tuple(shards), tuple(masks))


def _without(folder: Path, entry: ShardEntry, mask: Mask, staged: Path) -> ShardEntry:
    temporary = staged / "shard.jsonl.zst"
    with Writer(temporary, threads=available_cores()) as writer:
        for line, goes in zip(shard_lines(folder / entry.name), mask.tolist(), strict=True):
            if not goes:
                writer.add_line(line)
    (new,) = writer.entries
    number = entry.name.partition("-")[0].partition(".")[0]
    name = f"{number}-{new.sha256[:8]}.jsonl.zst"
    if name == entry.name:  # eight digits of two hashes agree: no name ever means something else
        name = f"{number}-{new.sha256[:16]}.jsonl.zst"
    rename(temporary, staged / name)
    index = folder / INDEX / index_name(entry.name)
    if index.exists():
        make_folder(staged / INDEX)
        save_facts(_rows(load_facts(index), ~mask), staged / INDEX / index_name(name))
    return msgspec.structs.replace(new, name=name)


def _rows(facts: Facts, kept: Mask) -> Facts:
    arrays: dict[str, Any] = {
        name: np.ascontiguousarray(value[kept])
        for name, value in vars(facts).items()
        if isinstance(value, np.ndarray)
    }
    return replace(facts, **arrays)


def _manifest_after(
    manifest: dict[str, Any], finding: Finding, shards: Mapping[str, tuple[ShardEntry, ...]]
) -> dict[str, Any]:
    """The manifest without removed documents; the counts of the build's stages stay."""
    new = dict(manifest)
    new["version"] = manifest["version"] + 1
    before = manifest.get("taken_down", {"documents": 0, "rejects": 0})
    counts = {
        "documents": before["documents"] + finding.num_documents,
        "rejects": before["rejects"] + finding.num_rejects,
    }
    splits = new.pop("splits")
    new["taken_down"] = counts
    new["splits"] = {}
    for split, part in splits.items():
        new["splits"][split] = dict(part)
        if split in finding.documents:
            entries = shards["" if split == "train" else split]
            domains = part["domains"]
            for statistics in finding.statistics[split]:
                domains = _minus(domains, composition(statistics))
            new["splits"][split] = {
                "shards": [msgspec.to_builtins(entry) for entry in entries],
                "domains": domains,
            }
    return new


def _minus(counts: Mapping[str, Any], gone: Mapping[str, Any]) -> dict[str, Any]:
    """Counts by name, at any depth, less others; names of which no document is left are dropped."""
    left: dict[str, Any] = {}
    for name, value in counts.items():
        if name not in gone:
            left[name] = value
        elif isinstance(value, Mapping):
            rest = _minus(value, gone[name])
            if rest.get("documents", 1):
                left[name] = rest
        else:
            left[name] = value - gone[name]
    return left


def _remembered(rules: Rules, finding: Finding, *, and_copies: bool) -> Rules:
    """What a later build must leave out.

    Documents found by their text are listed by id as well: a text that a rewriter changed may not
    match as it was read. Those listed by id are listed by their place, too: a newer reader may
    extract another text there, which has another id.
    """
    ids: set[str] = set(rules.ids)
    contents: set[str] = set(rules.contents)
    if rules.texts or and_copies:
        ids |= finding.ids
    if and_copies:
        ids |= finding.rejected_copies
        contents |= {name[:16] for name in finding.ids}
    places = {finding.places[name] for name in ids if name in finding.places}
    return replace(
        rules,
        ids=tuple(sorted(ids)),
        contents=tuple(sorted(contents)),
        places=tuple(sorted(places)),
    )


def _rules_in_short(rules: Rules) -> dict[str, Any]:
    """The rules for the record, with texts as hashes."""
    short = {name: list(values) for name, values in vars(rules).items() if values}
    if rules.texts:
        short["texts"] = [
            {"ngram": t.ngram, "share": t.share, "sha256": _sha256(t.ngrams.encode())}
            for t in rules.texts
        ]
    return short


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
