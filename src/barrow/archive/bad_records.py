"""What to do about bad records: stop, or count them and continue."""

from __future__ import annotations

import base64
import os
from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec

from barrow.archive.records import RAW_LIMIT
from barrow.errors import ArchiveError
from barrow.files import AppendedFile

OnBad = Literal["raise", "count"]

# Errors kept in memory; a file given as `rejects` gets them all.
_MAX_EXAMPLES = 100


class BadLog:
    """What was wrong in one pass over an archive, by reason.

    `counts` is by reason; `documents_lost` counts the documents concerned, where known; `examples`
    are errors: the first hundred, and the first of each reason. With `rejects`, each is also a line
    added to that file: reason, shard, frame, document, cause, and the raw bytes.
    """

    def __init__(self, rejects: str | os.PathLike[str] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.documents_lost: Counter[str] = Counter()
        self.examples: list[ArchiveError] = []
        self._rejects = Path(rejects) if rejects is not None else None

    def add(self, error: ArchiveError) -> None:
        """Count one error."""
        if len(self.examples) < _MAX_EXAMPLES or error.reason not in self.counts:
            self.examples.append(error)
        self.counts[error.reason] += 1
        self.documents_lost[error.reason] += error.num_documents or 0
        if self._rejects is not None:
            file = AppendedFile(self._rejects)
            try:
                file.write(msgspec.json.encode(_as_row(error)) + b"\n")
            finally:
                file.close()

    def __len__(self) -> int:
        return self.counts.total()

    def __repr__(self) -> str:
        return f"BadLog({dict(self.counts)})"


def _as_row(error: ArchiveError) -> dict[str, object]:
    row: dict[str, object] = {
        "reason": error.reason,
        "shard": error.shard,
        "frame": error.frame,
        "document": error.document,
        "documents": error.num_documents,
        "cause": error.cause,
    }
    if error.raw is not None:
        if len(error.raw) >= RAW_LIMIT or error.reason == "too-long":
            row["raw_is_cut"] = True
        try:
            row["raw"] = error.raw.decode()
        except UnicodeDecodeError:
            row["raw_base64"] = base64.b64encode(error.raw).decode()
    return row
