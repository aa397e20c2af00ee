"""Commits a prepared takedown; a kill at any moment loses nothing.

A takedown is prepared in the folder `.takedown`: new shards, new files of the index, and last the
plan, by a rename. Before the plan exists nothing has happened, and the folder is discarded. After
that the takedown is committed: every step is idempotent, and the next takedown or build completes
it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from barrow.archive.catalog import Catalog, ShardEntry, write_catalog
from barrow.corpus.build.publish import INDEX, index_name
from barrow.corpus.folder import REJECTS, WORK
from barrow.corpus.manifest import MANIFEST
from barrow.corpus.mixture import SPLITS
from barrow.corpus.report.write import renew_papers
from barrow.corpus.takedown.rules import LIST
from barrow.errors import UnsafeName
from barrow.files import (
    inside,
    locked,
    remove,
    remove_tree,
    remove_unfinished,
    rename,
    sync_folder,
    write_bytes,
)

STAGING = ".takedown"
PLAN = "plan.json"
RECORDS = "takedowns.jsonl"
_FOLDERS = ("", *(f"{name}/" for name in (*SPLITS[1:], REJECTS)))
_PLACES = (*_FOLDERS, *(f"{folder}{INDEX}" for folder in _FOLDERS))


class ArchivePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The change of one archive: `folder` under the corpus, its new shards, and removed ones."""

    folder: str
    shards: tuple[ShardEntry, ...]
    removed: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A committed takedown: archives in the order they are replaced, and files with their new
    texts.

    `record` is a line for the records, of which `records_size` bytes were there before.
    """

    archives: tuple[ArchivePlan, ...]
    takedown_list: str
    manifest: str
    record: str
    records_size: int


def decide(corpus: Path, plan: Plan) -> None:
    """Write the plan: from now on the takedown will be completed, by us or the next."""
    _check(corpus, plan)
    write_bytes(corpus / STAGING / PLAN, msgspec.json.encode(plan))


def complete_interrupted(corpus: Path) -> str | None:
    """Complete an interrupted takedown; its record, or None without one.

    The caller holds the lock of the folder.
    """
    staging = corpus / STAGING
    if not staging.exists():
        return None
    if not (staging / PLAN).exists():
        remove_tree(staging)
        return None
    plan = msgspec.json.decode((staging / PLAN).read_bytes(), type=Plan)
    _check(corpus, plan)
    # The list first: from now on no build brings back what is removed.
    write_bytes(corpus / LIST, plan.takedown_list.encode())
    for archive in plan.archives:
        _switch(corpus / archive.folder, staging / archive.folder, archive)
    write_bytes(corpus / MANIFEST, plan.manifest.encode())
    for archive in plan.archives:
        _remove_old(corpus / archive.folder, archive.removed)
    # Leftovers of a killed build may be copies of an old shard.
    for place in _PLACES:
        remove_unfinished(corpus / place)
    remove_tree(corpus / WORK / "tasks")
    renew_papers(corpus)
    records = corpus / RECORDS
    before = records.read_bytes()[: plan.records_size] if records.exists() else b""
    write_bytes(records, before + plan.record.encode() + b"\n")
    remove(staging / PLAN)
    sync_folder(staging)
    remove_tree(staging)
    sync_folder(corpus)
    return plan.record


def _check(corpus: Path, plan: Plan) -> None:
    """Raise before anything changes if the plan, which may not be ours, leads out of the corpus.

    All that a takedown moves or removes is named here.
    """
    try:
        for name in (LIST, MANIFEST, RECORDS, f"{WORK}/tasks", f"{STAGING}/{PLAN}", *_PLACES[1:]):
            inside(corpus, name)
        for archive in plan.archives:
            for place in (corpus, corpus / STAGING):
                folder = inside(place, archive.folder) if archive.folder else place
                inside(folder, INDEX)
                for name in (*archive.removed, *(shard.name for shard in archive.shards)):
                    inside(folder, name)
                    inside(folder, f"{INDEX}/{index_name(name)}")
    except UnsafeName as error:
        raise UnsafeName(
            f"{corpus / STAGING / PLAN} is not a plan of this corpus ({error}); nothing was "
            f"changed. Remove {corpus / STAGING} unless a takedown of yours was interrupted"
        ) from None


def complete_before_build(corpus: Path) -> None:
    """Complete an interrupted takedown, if there is one, before the corpus is built again."""
    if (corpus / STAGING).exists():
        with locked(corpus):
            complete_interrupted(corpus)


def _switch(folder: Path, staged: Path, archive: ArchivePlan) -> None:
    """Rename new shards into place, then replace the catalog."""
    for part in (INDEX, ""):
        if (staged / part).is_dir():
            for path in sorted((staged / part).glob("[0-9]*")):
                rename(path, folder / part / path.name)
            sync_folder(folder / part)
    write_catalog(folder, Catalog(shards=archive.shards))


def _remove_old(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        remove(folder / name)
        remove(folder / INDEX / index_name(name))
    sync_folder(folder)
