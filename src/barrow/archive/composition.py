"""The composition of an archive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from barrow.archive.reader import Archive

UNKNOWN = "(none)"


@dataclass(frozen=True, slots=True)
class Share:
    """Documents of one domain, and the UTF-8 bytes of their texts."""

    domain: str
    documents: int
    bytes: int

    @property
    def mean(self) -> float:
        """Bytes per document."""
        return self.bytes / self.documents if self.documents else 0.0


@dataclass(frozen=True, slots=True)
class Composition:
    """Shares by domain, largest first, and the sizes of the whole.

    `content_bytes` are the JSON lines, `disk_bytes` the files (0 for a part of an archive); their
    ratio is the compression ratio.
    """

    shares: tuple[Share, ...]
    content_bytes: int
    disk_bytes: int

    @property
    def total(self) -> Share:
        """All domains together."""
        documents = sum(share.documents for share in self.shares)
        return Share("total", documents, sum(share.bytes for share in self.shares))

    @property
    def compression_ratio(self) -> float:
        """Bytes of JSON lines per byte on disk."""
        return self.content_bytes / self.disk_bytes if self.disk_bytes else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The same as a JSON object."""
        total = self.total

        def row(share: Share) -> dict[str, Any]:
            return {
                "domain": share.domain,
                "documents": share.documents,
                "bytes": share.bytes,
                "mean_bytes": share.mean,
                "share": share.bytes / total.bytes if total.bytes else 0.0,
            }

        return {
            "documents": total.documents,
            "bytes": total.bytes,
            "mean_bytes": total.mean,
            "content_bytes": self.content_bytes,
            "disk_bytes": self.disk_bytes,
            "compression_ratio": self.compression_ratio,
            "domains": [row(share) for share in self.shares],
        }


def composition(
    archive: Archive,
    *,
    by: str = "pile_set_name",
    on_progress: Callable[[int], None] | None = None,
) -> Composition:
    """Count documents and bytes by a key of meta (dots for nested keys), in one pass."""
    documents: defaultdict[str, int] = defaultdict(int)
    sizes: defaultdict[str, int] = defaultdict(int)
    content_bytes = 0
    steps = by.split(".")
    for block in archive.blocks():
        lengths = (block.offsets[1:] - block.offsets[:-1]).tolist()
        for meta, length in zip(block.metas(), lengths, strict=True):
            name = _name_at(meta, steps)
            documents[name] += 1
            sizes[name] += length
        content_bytes += block.content_bytes
        if on_progress is not None:
            on_progress(block.content_bytes)
    shares = sorted(
        (Share(name, documents[name], sizes[name]) for name in documents),
        key=lambda share: (-share.bytes, share.domain),
    )
    # For a part, the sizes of frames and files would not match.
    disk_bytes = 0 if archive.is_part else archive.num_bytes
    return Composition(tuple(shares), content_bytes, disk_bytes)


def _name_at(meta: Any, steps: list[str]) -> str:
    value = meta
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if value is None:
        return UNKNOWN
    return value if isinstance(value, str) else str(value)
