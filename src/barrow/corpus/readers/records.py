"""Records that are already documents: JSON lines, JSON, parquet, and our archives.

Read through `barrow.archive.open`, so every form it knows is read here: .jsonl and .json, plain,
gzip or zstandard, .parquet, shards. `meta` is kept; `member` is the record's number in the file. A
record's own id becomes ``record.id`` in the provenance.
What the archive counts as bad is a reject under the archive's own reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import barrow.archive
from barrow.archive import Document
from barrow.archive.foreign.files import ForeignFile, LineSpan, line_spans
from barrow.archive.reader import Archive, Reading
from barrow.archive.records import RecordForm
from barrow.archive.shard import read_table
from barrow.archive.storage import READABLE, ByteRanges
from barrow.corpus.readers.reader import Item, Reader, Reject, Span, excerpt
from barrow.errors import BarrowError, ConfigError


@dataclass(frozen=True)
class Records(Reader):
    """JSON lines, JSON and parquet: a document per record, its text in the column `text_key`.

    - `text_key`: the key, or column, of a record's text
    - `id_key`: the key of a record's own id, with dots for nested ones; null: "id"
    - `domain_key`: the key of a record's domain, likewise; null: "pile_set_name"
    - `domain`: of records that do not name theirs
    - `sample`: share of the records that are kept, chosen by their text; for trials
    - `max_document`: longest record, in bytes
    """

    text_key: str = "text"
    id_key: str | None = None
    domain_key: str | None = None
    domain: str | None = None
    sample: float = 1.0
    max_document: int = 1 << 28

    extractor = "records/1"
    patterns = tuple(f"**/*{suffix}" for suffix in READABLE)

    def __post_init__(self) -> None:
        if not 0 < self.sample <= 1:
            raise ConfigError(f"sample must be > 0 and ≤ 1, got {self.sample}")

    def read(self, path: Path) -> Iterator[Item]:
        return self._items(lambda: self._open(path))

    def spans(self, path: Path, target: int) -> list[Span]:
        """Frames of a shard or of another zstandard file, lines of a plain one."""
        try:
            table = read_table(ByteRanges(str(path))) if path.name.endswith(".zst") else None
            found: list[Span] = (
                [(start, stop) for start, stop, _ in table.spans(target)]
                if table is not None
                else list(line_spans(str(path), target, max_document=self.max_document))
            )
        except (BarrowError, OSError):  # `read` reports it
            return []
        return found if len(found) > 1 else []

    def read_span(self, path: Path, span: Span) -> Iterator[Item]:
        if len(span) == 2:
            return self._items(lambda: self._open(path)[span[0] : span[1]])
        part = ForeignFile(
            str(path),
            text_key=self.text_key,
            max_document=self.max_document,
            part=LineSpan(*span),
        )
        reading = Reading(RecordForm(text_key=self.text_key), "count", rejects=None, threads=1)
        return self._items(lambda: Archive([part], reading))

    def _open(self, path: Path) -> Archive:
        return barrow.archive.open(
            path,
            text_key=self.text_key,
            on_bad="count",
            max_document=self.max_document,
            threads=1,
        )

    def _items(self, opened: Callable[[], Archive]) -> Iterator[Item]:
        try:
            archive = opened()
            for block in archive.blocks():
                yield from _rejects(archive.bad)
                for i, (number, meta) in enumerate(zip(block.numbers, block.metas(), strict=True)):
                    text = block.text_of(i)
                    meta = self._named(meta)
                    if self.sample == 1 or self._is_chosen(text):
                        yield Document(text, {"member": str(number), **meta})
                    else:
                        cause = f"not in the sample of {self.sample:g}"
                        yield Reject("not-sampled", cause, str(number), own_id=meta.get("id"))
            yield from _rejects(archive.bad)
        except (BarrowError, OSError, ValueError) as error:
            yield Reject("unreadable", str(error))

    def _is_chosen(self, text: str) -> bool:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") < self.sample * 2**64

    def _named(self, meta: dict[str, Any]) -> dict[str, Any]:
        """The meta of a record with its own id and domain, as the settings say."""
        own = None if self.id_key is None else _value(meta, self.id_key)
        if isinstance(own, str | int) and own != meta.get("id"):
            other = {"other_id": meta["id"]} if "id" in meta else {}
            meta = {**meta, **other, "id": own}
        name = _value(meta, self.domain_key or "pile_set_name")
        if not isinstance(name, str) or not name:
            name = self.domain
        if name is not None and name != meta.get("pile_set_name"):
            meta = {**meta, "pile_set_name": name}
        return meta


def _value(meta: dict[str, Any], key: str) -> Any:
    """The value of a key of meta; dots lead inwards."""
    found: Any = meta
    for part in (key,) if key in meta else key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _rejects(bad: barrow.archive.BadLog) -> Iterator[Reject]:
    """Rejects for what was counted since the last call; the log is emptied to stay small."""
    for error in bad.examples:
        member = "" if error.document is None else str(error.document)
        yield Reject(error.reason, error.cause, member, excerpt(error.raw or b""))
    more = len(bad) - len(bad.examples)
    if more > 0:
        yield Reject("too-many-bad-records", f"{more:,} more bad records in the same part")
    bad.examples.clear()
    bad.counts.clear()
