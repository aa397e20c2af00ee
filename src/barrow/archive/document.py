"""A document: text and metadata."""

from __future__ import annotations

from typing import Any

import msgspec


class Document(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A text and its metadata, written as ``{"text": ..., "meta": {...}}``.

    `text` is any Unicode string without unpaired surrogates. `meta` holds JSON values under string
    keys; `pile_set_name` is the domain. What JSON cannot represent is refused (NaN, infinities) or
    converted (a tuple to a list).
    """

    text: str
    meta: dict[str, Any] = {}

    @property
    def domain(self) -> str | None:
        """The domain the document belongs to, or None."""
        name = self.meta.get("pile_set_name")
        return name if isinstance(name, str) else None
