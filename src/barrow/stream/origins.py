"""Where documents of a store came from, as their archive tells it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import barrow.archive
from barrow.errors import ArchiveError, NotFound
from barrow.stream.explain import Seen
from barrow.tokens.sources import split_path

if TYPE_CHECKING:
    from barrow.tokens import TokenStore


def origins(store: TokenStore, seen: Iterable[Seen]) -> dict[int, dict[str, Any]]:
    """The metas of documents by their number in the store, of those that the archive still has.

    An archive that was rewritten has other documents at the same numbers; where a document has an
    id, it must be the same.
    """
    told = store.told.corpus
    try:
        path = split_path(told.path, told.split)
        archive = barrow.archive.open(path, text_key=told.text_key)
        length = len(archive)
    except (NotFound, ArchiveError, OSError):
        return {}
    metas: dict[int, dict[str, Any]] = {}
    for one in sorted(set(seen), key=lambda one: one.archive_number):
        if one.document in metas or one.archive_number >= length:
            continue
        try:
            meta = archive[one.archive_number].meta
        except ArchiveError:
            continue
        if not one.identity or meta.get("id") == one.identity:
            metas[one.document] = meta
    return metas
