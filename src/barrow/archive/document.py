"""A document: text and metadata; its id as numbers."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

_FORM = re.compile(r"([0-9a-f]{16})-([0-9a-f]{8})")


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


def identity_of(value: Any) -> tuple[int, int]:
    """The two halves of an id, 16 and 8 hexadecimal digits; zeros for anything else."""
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    return (0, 0) if match is None else (int(match[1], 16), int(match[2], 16))


def name_of(identity: npt.NDArray[np.uint64]) -> str:
    """The id of two halves; "" for zeros, which mean a document without an id."""
    high, low = identity.tolist()
    return f"{high:016x}-{low:08x}" if high or low else ""
