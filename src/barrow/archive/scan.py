"""Lines to texts and metas in arrays, by the compiled scanner where it is installed.

The scanner reads the output of our writer and of most others. Callers parse everything else again
through `RecordForm`, which handles all forms and all errors. Without the compiled scanner (no
compiler, no wheel) they always do: slower, with the same results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.archive.buffers import BufferPool
from barrow.archive.piece import Piece

try:
    from barrow.archive import _scan
except ImportError:  # pragma: no cover - depends on the installation
    _scan = None  # type: ignore[assignment]

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

_METAS = msgspec.json.Decoder(list[dict[str, Any]])


@dataclass(frozen=True, slots=True, eq=False)
class Scanned:
    """Text i is ``text[offsets[i]:offsets[i + 1]]``; metas are one JSON array."""

    text: Bytes
    offsets: Offsets
    meta: Bytes
    meta_offsets: Offsets

    def texts(self) -> list[str]:
        """The texts as strings."""
        return _scan.texts(self.text.data, self.offsets.data)

    @property
    def meta_array(self) -> memoryview:
        """All metas as one JSON array."""
        return self.meta.data[: int(self.meta_offsets[-1])]

    def metas(self) -> list[dict[str, Any]] | None:
        """The metas, decoded; None if one of them is not JSON after all."""
        try:
            return _METAS.decode(self.meta_array)
        except (ValueError, RecursionError):
            return None


def scan(piece: Piece, text_key: str, pool: BufferPool) -> Scanned | None:
    """Load and scan a piece; None if it needs the general path."""
    key = _key(text_key)
    # With `text_key="meta"` the scanner would take a second key of that name for the meta.
    if _scan is None or key is None or key == _META_KEY:
        return None
    end = _scan.GAP + piece.size
    buffer = pool.take(end + _scan.SLACK)
    piece.load(buffer.data[_scan.GAP : end])
    # A line `{"text":""}` without meta becomes `{},`: the array is no longer than the lines.
    meta = pool.take(piece.size + _scan.SLACK)
    offsets = np.empty(piece.num_documents + 1, np.int64)
    meta_offsets = np.empty(piece.num_documents + 1, np.int64)
    n = _scan.scan_lines(
        buffer.data, end, key, _META_KEY, offsets.data, meta.data, meta_offsets.data
    )
    return Scanned(buffer, offsets, meta, meta_offsets) if n == piece.num_documents else None


_META_KEY = b'meta"'


@cache
def _key(name: str) -> bytes | None:
    """A key in the scanner's form: with the closing quote, without the opening one."""
    key = msgspec.json.encode(name)[1:]
    return key if len(key) < 32 else None
