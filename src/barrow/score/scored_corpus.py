"""The scored documents: of an archive or any others, in order, each with its place and name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from barrow.archive import Archive, Document
from barrow.archive.composition import UNKNOWN
from barrow.corpus.mixture import SPLITS
from barrow.errors import NotFound, ScoreError

if TYPE_CHECKING:
    from typing import Any
from barrow.archive import read_catalog
from barrow.archive.storage import CATALOG_NAME
from barrow.config import parse_json

_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Text:
    """A document: its number in the corpus, its domain, its id where it has one, its UTF-8."""

    number: int
    domain: str
    id: str | None
    text: bytes

    def __str__(self) -> str:
        known = "" if self.id is None else f", id {self.id}"
        return f"document {self.number} ({self.domain}{known})"


@dataclass(frozen=True)
class ScoredCorpus:
    """Documents that can be read repeatedly, in the same order; the first `limit` of them."""

    name: str
    split: str | None
    documents: Iterable[Document]
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit must be ≥ 1 document, got {self.limit}")

    def __iter__(self) -> Iterator[Text]:
        found = (
            _of_archive(self.documents)
            if isinstance(self.documents, Archive)
            else map(_of_document, enumerate(self.documents))
        )
        return islice(found, self.limit)


def open_corpus(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    limit: int | None = None,
    text_key: str = "text",
) -> ScoredCorpus:
    """A built corpus, a folder of shards, or a file of records (.jsonl, .jsonl.zst, .parquet…).

    Of a corpus with splits, `split` is taken, by default the test split; what has none is taken as
    a whole.
    """
    import barrow.archive

    name = os.fspath(path)
    folder = Path(name)
    is_built = (folder / _MANIFEST).is_file()
    if split is None and (is_built or (folder / "test").is_dir()):
        split = "test"
    where = name if split is None else os.fspath(_split_folder(folder, split, is_built=is_built))
    archive = barrow.archive.open(where, text_key=text_key)
    return ScoredCorpus(folder.name or name, split, archive, limit)


def _split_folder(folder: Path, split: str, *, is_built: bool) -> Path:
    if (folder / split).is_dir():
        return folder / split
    if split == "train" and is_built:
        return folder
    found = [name for name in SPLITS if (folder / name).is_dir()]
    found = ["train", *found] if is_built else found
    raise NotFound(
        f"{folder} has no split {split!r}; "
        + (f"it has {', '.join(found)}" if found else "it has no splits: leave out --split")
    )


def _of_archive(archive: Archive) -> Iterator[Text]:
    number = 0
    for block in archive.blocks():
        offsets = block.offsets.tolist()
        for i, meta in enumerate(block.metas()):
            text = block.text[offsets[i] : offsets[i + 1]].tobytes()
            yield Text(number, _domain(meta), _id(meta), text)
            number += 1


def _of_document(numbered: tuple[int, Document]) -> Text:
    number, document = numbered
    domain, name = _domain(document.meta), _id(document.meta)
    try:
        return Text(number, domain, name, document.text.encode())
    except UnicodeEncodeError as error:
        raise ScoreError(
            f"{Text(number, domain, name, b'')}: character {error.start} is half of a "
            "surrogate pair, which UTF-8 cannot encode; join the halves or replace them"
        ) from None


def _domain(meta: dict[str, Any]) -> str:
    domain = meta.get("pile_set_name")
    return domain if isinstance(domain, str) else UNKNOWN


def _id(meta: dict[str, Any]) -> str | None:
    found = meta.get("id")
    return found if isinstance(found, str) else None


def text_size(path: str | os.PathLike[str], split: str | None) -> int | None:
    """UTF-8 bytes of a corpus's split, None if unknown.

    A built corpus's manifest counts them. An archive's catalog counts the JSON lines, which are a
    little more than their texts.
    """
    folder = Path(path)
    manifest = folder / "manifest.json"
    if split is not None and manifest.is_file():
        try:
            counted = parse_json(manifest.read_bytes(), manifest)["splits"][split]["domains"]
            return sum(int(domain["bytes"]) for domain in counted.values())
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # of another version; the count is optional
    own = folder if split in (None, "train") else folder / split
    if (own / CATALOG_NAME).is_file():
        return sum(shard.content_bytes for shard in read_catalog(os.fspath(own)).shards)
    return None
