"""Finding a document of a corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

import barrow.archive
from barrow.archive import Document
from barrow.corpus.folder import archive_folders, rejects_folder
from barrow.errors import NotFound


@dataclass(frozen=True, slots=True)
class Found:
    """A document and its place; `cluster` is the first half of the id of the best of its
    near-duplicates, "" where there are none.
    """

    shard: str
    frame: int
    number: int
    document: Document
    cluster: str = ""


def find_document(path: str, wanted: str, *, is_id: bool = False) -> Found:
    """The document with an id, its own or its record's, or with a number in the archive.

    With `is_id`, digits are an id, too. Of a corpus, an id is looked for in all splits, then among
    the rejects.
    """
    is_number = wanted.isdigit() and not is_id
    folder = Path(path)
    others = [*archive_folders(folder).values(), rejects_folder(folder)]
    if is_number or not (folder / "manifest.json").is_file():
        others = []
    for place in (path, *(str(other) for other in others if other not in (None, folder))):
        if found := _find(place, wanted, is_number=is_number):
            inside = "" if place == path else f"{Path(place).name}/"
            return replace(found, shard=f"{inside}{found.shard}")
    raise NotFound(f"no document {wanted!r} in {path}; pass its id or its number")


def _find(path: str, wanted: str, *, is_number: bool) -> Found | None:
    archive = barrow.archive.open(path)
    if is_number:
        number = int(wanted)
        if number >= len(archive):
            raise NotFound(
                f"document {number} is out of range: the corpus has {len(archive):,}; "
                "pass --id if it is a record's own id"
            )
        archive = archive[number : number + 1]
    first = int(wanted) if is_number else 0
    # An id is in the raw meta as written; most frames need no parsing.
    written = msgspec.json.encode(wanted)[1:-1]
    for block in archive.blocks():
        if is_number or written in block.meta_array():
            for i, meta in enumerate(block.metas()):
                ids = (meta.get("id"), str(meta.get("record.id")))
                if is_number or wanted in ids:
                    document = Document(block.text_of(i), meta)
                    cluster = _cluster(Path(path), block.shard, block.numbers[i])
                    return Found(block.shard, block.frame, first + i, document, cluster)
        first += len(block)
    return None


def _cluster(folder: Path, shard: str, row: int) -> str:
    from safetensors import SafetensorError

    from barrow.corpus.build.facts import load_facts
    from barrow.corpus.build.publish import INDEX, index_name

    try:
        cluster = int(load_facts(folder / INDEX / index_name(shard)).cluster[row])
    except (OSError, SafetensorError, IndexError):  # an archive without an index, or with another
        return ""
    return f"{cluster:016x}" if cluster else ""
