"""Documents that are scored already, on disk as they come: a killed run goes on from them.

The first line says what is scored and how; each other line is a group of documents. A line that was
cut short is a group that is scored again, so a run that was killed gives the same numbers as one
that was not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from barrow.errors import ScoreError

_END = {"end": True}


@dataclass(frozen=True)
class Scored:
    """A document and its figures; `sha256` is of its text, `seconds` its share of its group's."""

    number: int
    domain: str
    sha256: str
    bytes: int
    tokens: int
    nats: float
    projection: str
    seconds: float
    kind_bytes: tuple[int, ...]
    kind_nats: tuple[float, ...]


class PartFile:
    """Groups of scored documents, appended one by one; `groups` are those that were there."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.groups: list[list[Scored]] = []
        self.is_ended = False
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = self._read(about) if path.exists() else 0
        self._file = path.open("r+b" if kept else "wb")
        self._file.truncate(kept)
        self._file.seek(kept)
        if not kept:
            self._append(about)

    def add(self, group: list[Scored]) -> None:
        """Append a group; it is on the disk when this returns."""
        self._append([list(asdict(scored).values()) for scored in group])

    def end(self) -> None:
        """Say that nothing more will come."""
        if not self.is_ended:
            self._append(_END)
        self.close()

    def close(self) -> None:
        """Stop writing; the file stays."""
        self._file.close()

    def _append(self, value: Any) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, about: Mapping[str, Any]) -> int:
        """Read what is there; how many bytes of it are whole lines."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        if not lines:
            return 0
        try:
            there = json.loads(lines[0])
            _refuse_other(self.path, there, about)
            for line in lines[1:]:
                value = json.loads(line)
                if value == _END:
                    self.is_ended = True
                else:
                    self.groups.append([_scored(row) for row in value])
        except (ValueError, TypeError) as error:
            raise ScoreError(
                f"{self.path} is not as a run of `barrow score` leaves it ({error}); remove it to "
                "begin anew"
            ) from None
        return whole


def read_part(path: Path, about: Mapping[str, Any]) -> list[Scored] | None:
    """All documents of another process's part; None while it is not there or has not ended."""
    if not path.exists() or not path.read_bytes().endswith(json.dumps(_END).encode() + b"\n"):
        return None
    part = PartFile(path, about)
    part.close()
    return [scored for group in part.groups for scored in group]


def _scored(row: list[Any]) -> Scored:
    named = dict(zip((field.name for field in fields(Scored)), row, strict=True))
    for name in ("kind_bytes", "kind_nats"):
        named[name] = tuple(named[name])
    return Scored(**named)


def _refuse_other(path: Path, there: Any, about: Mapping[str, Any]) -> None:
    wanted = json.loads(json.dumps(about))
    if there == wanted:
        return
    there = there if isinstance(there, dict) else {}
    changed = [key for key in {**wanted, **there} if there.get(key) != wanted.get(key)]
    raise ScoreError(
        f"{path} was left by another run: {', '.join(changed)} differ. Give what it was given to "
        "go on with it, or remove it to begin anew"
    )
