"""Finished shards become an archive at once, when its catalog is replaced."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from barrow.archive.catalog import Catalog, ShardEntry, write_catalog
from barrow.engine import Output, Outputs
from barrow.errors import ConfigError
from barrow.files import inside, link_or_copy, make_folder, remove, write_bytes

FACTS = "facts.safetensors"
INDEX = "index"


class Shard(Outputs):
    """A shard, and its entry in the catalog."""

    shard = Output("shard.jsonl.zst")
    entry = Output("entry.json")


def publish(folder: Path, results: Sequence[Shard]) -> list[ShardEntry]:
    """Make finished shards an archive, and their facts the index beside it.

    Names contain a hash, so the old catalog stays valid until the new one replaces it.
    """
    make_folder(folder)
    entries: list[ShardEntry] = []
    for result in results:
        entry = msgspec.json.decode(result.entry.path.read_bytes(), type=ShardEntry)
        if not entry.documents:
            continue
        name = f"{len(entries):05d}-{entry.sha256[:8]}.jsonl.zst"
        entries.append(msgspec.structs.replace(entry, name=name))
        if not (folder / name).exists():
            link_or_copy(result.shard.path, inside(folder, name))
        if (facts := result.folder / FACTS).exists():
            make_folder(folder / INDEX)
            link_or_copy(facts, inside(folder, f"{INDEX}/{index_name(name)}"))
    catalog = Catalog(shards=tuple(entries))
    saved = None
    with contextlib.suppress(OSError, ConfigError, ValueError, RecursionError):
        saved = msgspec.json.decode((folder / "archive.json").read_bytes(), type=Catalog)
    if saved != catalog:
        write_catalog(folder, catalog)
    _remove_unlisted(folder, {entry.name for entry in entries})
    return entries


def index_name(shard: str) -> str:
    """The file of the index that belongs to a shard."""
    return shard.replace(".jsonl.zst", ".safetensors")


def _remove_unlisted(folder: Path, listed: Collection[str]) -> None:
    for path in folder.glob("[0-9]*-*.jsonl.zst"):
        if path.name not in listed:
            remove(path)
    kept = {index_name(name) for name in listed}
    for path in (folder / INDEX).glob("*.safetensors"):
        if path.name not in kept:
            remove(path)


def write_if_changed(path: Path, text: str) -> None:
    """Write a file atomically, unless it already has this text."""
    if not path.exists() or path.read_bytes() != text.encode():
        write_bytes(path, text.encode())
