"""Where documents of a store came from, read from their archive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import barrow.archive
from barrow.errors import ArchiveError, NotFound
from barrow.stream.explain import Seen
from barrow.tokens.store.sources import split_path

if TYPE_CHECKING:
    from barrow.archive import Archive
    from barrow.tokens import TokenStore

# How many places before its old one a document is looked for.
_LOOK_BACK = 64


def origins(store: TokenStore, seen: Iterable[Seen]) -> dict[int, dict[str, Any]]:
    """The metas of documents by their number in the store, of those that the archive still has.

    A takedown moves the documents after it forward. So if some are missing, each is looked up by
    its id, at its old place and a little before it; one without an id is not found then.
    """
    corpus = store.manifest.corpus
    try:
        path = split_path(corpus.path, corpus.split)
        archive = barrow.archive.open(path, text_key=corpus.text_key)
        length = len(archive)
    except (NotFound, ArchiveError, OSError):
        return {}
    missing = max(0, sum(source.documents for source in corpus.sources) - length)
    documents = {one.document: one for one in seen}
    metas: dict[int, dict[str, Any]] = {}
    moved = 0  # by so many places; more and more along the archive
    for one in sorted(documents.values(), key=lambda one: one.archive_number):
        for places in range(moved, min(missing, moved + _LOOK_BACK) + 1):
            meta = _meta_at(archive, one.archive_number - places, length)
            if meta is not None and _is_of(one, meta, all_there=not missing):
                metas[one.document], moved = meta, places
                break
    return metas


def _meta_at(archive: Archive, number: int, length: int) -> dict[str, Any] | None:
    if not 0 <= number < length:
        return None
    try:
        return archive[number].meta
    except ArchiveError:
        return None


def _is_of(one: Seen, meta: dict[str, Any], *, all_there: bool) -> bool:
    return meta.get("id") == one.identity if one.identity else all_there
