"""`archive.json`: the shards of an archive, their sizes and checksums."""

from __future__ import annotations

from pathlib import Path

import msgspec

from barrow.archive.storage import CATALOG_NAME, ByteRanges, is_url, join
from barrow.errors import DamagedShard, UnsafeName
from barrow.files import checked_name, inside, write_bytes

_FORMAT = "barrow-archive"
_VERSION = 1


class ShardEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One shard: `bytes` on disk, `content_bytes` of JSON lines in it, XXH64 of its frames."""

    name: str
    documents: int
    bytes: int
    content_bytes: int
    xxh64: str
    sha256: str


class Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shards, in reading order."""

    shards: tuple[ShardEntry, ...] = ()
    format: str = _FORMAT
    version: int = _VERSION

    @property
    def documents(self) -> int:
        """Documents in all shards."""
        return sum(shard.documents for shard in self.shards)


def read_catalog(folder: str) -> Catalog:
    """The catalog of an archive folder."""
    file = ByteRanges(join(folder, CATALOG_NAME))
    try:
        catalog = msgspec.json.decode(file.read(0, file.size), type=Catalog)
    except (ValueError, RecursionError) as error:
        raise DamagedShard(
            f"not a catalog of shards ({error}); the shards can still be read by a glob",
            reason="bad-catalog",
            shard=CATALOG_NAME,
        ) from None
    if catalog.format != _FORMAT or catalog.version != _VERSION:
        raise DamagedShard(
            f"format {catalog.format!r} version {catalog.version}; this barrow reads "
            f"{_FORMAT!r} version {_VERSION}",
            reason="bad-catalog",
            shard=CATALOG_NAME,
        )
    names = [shard.name for shard in catalog.shards]
    if len(set(names)) < len(names):
        raise DamagedShard("a shard is listed twice", reason="bad-catalog", shard=CATALOG_NAME)
    try:
        for name in names:
            checked_name(name) if is_url(folder) else inside(Path(folder), name)
    except UnsafeName as error:
        raise DamagedShard(str(error), reason="bad-catalog", shard=CATALOG_NAME) from None
    return catalog


def write_catalog(folder: Path, catalog: Catalog) -> None:
    """Write the catalog atomically: a reader sees the old one or the new one."""
    data = msgspec.json.format(msgspec.json.encode(catalog), indent=1) + b"\n"
    write_bytes(folder / CATALOG_NAME, data)
