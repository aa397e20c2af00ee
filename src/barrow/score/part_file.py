"""Documents scored so far, on disk: a killed run resumes from them.

The first line says what is scored and how; each other line is a group of documents. The group of an
incomplete line is scored again, so a killed run gives the same numbers as any other.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from barrow.errors import ScoreError
from barrow.files import AppendedFile, locked, remove

_END = {"end": True}
_READ = 1 << 16


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


@contextlib.contextmanager
def held(path: Path | None) -> Iterator[None]:
    """Lock the part of a result, so that no second run writes to it."""
    if path is None:
        yield
        return
    AppendedFile(path).close()
    with locked(path, others="scoring to it"):
        try:
            yield
        finally:
            if path.exists() and not path.stat().st_size:
                remove(path)


class PartFile:
    """Groups of scored documents, appended one by one."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self._kept = _kept(path, about) if path.exists() else 0
        self.is_ended = bool(self._kept) and _has_ended(path)
        self._file = AppendedFile(path, keep=self._kept)
        if not self._kept:
            self._append(about)

    def before(self) -> Iterator[list[Scored]]:
        """The groups that were there, one at a time."""
        return _groups(self.path, self._kept)

    def add(self, group: list[Scored]) -> None:
        """Append a group; it is on the disk when this returns."""
        self._append([list(asdict(scored).values()) for scored in group])

    def end(self) -> None:
        """Mark the file as complete."""
        if not self.is_ended:
            self._append(_END)
        self.close()

    def close(self) -> None:
        """Stop writing; the file stays."""
        self._file.close()

    def _append(self, value: Any) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.sync()


def read_part(path: Path, about: Mapping[str, Any]) -> Iterator[list[Scored]] | None:
    """The groups of another process's part; None while it is missing or not complete."""
    if not path.exists() or not _has_ended(path):
        return None
    return _groups(path, _kept(path, about))


def _kept(path: Path, about: Mapping[str, Any]) -> int:
    """How many bytes of a part are complete lines; raise unless it is of the same run."""
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.readline()
        if not first.endswith(b"\n"):
            return 0
        try:
            _refuse_other(path, json.loads(first), about)
        except (ValueError, RecursionError) as error:
            raise _foreign(path, error) from None
        # An incomplete line is searched from the end: parts may be large.
        end = size
        while end > len(first):
            start = max(len(first), end - _READ)
            file.seek(start)
            place = file.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
        return len(first)


def _has_ended(path: Path) -> bool:
    last = json.dumps(_END).encode() + b"\n"
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(last)))
        return file.read() == last


def _groups(path: Path, kept: int) -> Iterator[list[Scored]]:
    with path.open("rb") as file:
        file.readline()
        while file.tell() < kept:
            try:
                value = json.loads(file.readline())
                group = [] if value == _END else [_scored(row) for row in value]
            except (ValueError, TypeError, RecursionError) as error:
                raise _foreign(path, error) from None
            if value != _END:
                yield group


def _foreign(path: Path, error: Exception) -> ScoreError:
    return ScoreError(
        f"{path} was not written by `barrow score` ({error}); remove it to start again"
    )


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
        f"{path} was left by another run: {', '.join(changed)} differ. To resume it, pass "
        "the same settings; to start again, remove it"
    )
