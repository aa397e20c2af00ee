"""Results of `barrow score` from files and folders; other files are named, not shown."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import NotFound, ScoreError, WeightsError
from barrow.pages.escape import one_line
from barrow.score.result import (
    FILE,
    Documents,
    Result,
    Row,
    documents_path,
    read_documents,
    read_result,
)


@dataclass(frozen=True)
class Found:
    """A result, its name (`shown_name`), and 12 hexadecimal digits of the file's hash."""

    file: str
    identity: str
    result: Result


@dataclass(frozen=True)
class LeftOut:
    """A file that is not shown, and why; `named` if it was passed by name."""

    file: str
    reason: str
    named: bool = False


@dataclass(frozen=True)
class Gathered:
    """The results of files. Identical files appear once."""

    found: tuple[Found, ...]
    left_out: tuple[LeftOut, ...]


def result_files(paths: Sequence[Path]) -> list[tuple[Path, bool]]:
    """The files, in order, each once, and whether it was named.

    A folder is that of a result, or holds files and folders of results.
    """
    files: dict[Path, bool] = {}
    for path in paths:
        if (path / FILE).is_file():
            files[path / FILE] = True
        elif path.is_dir():
            for file in sorted((*path.glob("*.json"), *path.glob(f"*/{FILE}"))):
                if file.is_file() and not shown_name(file).startswith("."):
                    files.setdefault(file, False)
        elif path.exists():
            files[path] = True
        else:
            raise NotFound(
                f"{path} does not exist; pass results of `barrow score`, or folders of them"
            )
    return list(files.items())


def read_file(path: Path) -> Found | str:
    """A file's result, or the reason why it has none."""
    try:
        identity = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        result = read_result(path)
        _check(result)
        if path.name == FILE and documents_path(path).exists():
            result = replace(result, documents=_without_kinds(read_documents(path, result)))
    except (ScoreError, WeightsError, OSError, RecursionError) as error:
        return _reason(error, path)
    return Found(shown_name(path), identity, result)


def _without_kinds(documents: Documents) -> Documents:
    """Drop what ranks do not need, which is most of the memory."""
    none = np.empty((len(documents), 0))
    return replace(documents, kinds=(), kind_bytes=none.astype(np.int64), kind_nats=none)


def shown_name(path: Path) -> str:
    """The name of a result: that of its folder, or of a file of another name."""
    return path.parent.name or path.name if path.name == FILE else path.name


def gather(paths: Sequence[Path], *, read: Callable[[Path], Found | str] = read_file) -> Gathered:
    """Read the results of files and folders."""
    found: dict[str, Found] = {}
    left_out = []
    for path, named in result_files(paths):
        outcome = read(path)
        if isinstance(outcome, str):
            left_out.append(LeftOut(shown_name(path), outcome, named))
        else:
            found.setdefault(outcome.identity, outcome)
    return Gathered(tuple(found.values()), tuple(left_out))


def domain_name(name: str) -> str:
    """A domain's name as it is shown."""
    return one_line(name) or "(no name)"


def _reason(error: Exception, path: Path) -> str:
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return one_line(words.removeprefix(str(path)).lstrip(": "))


def _check(result: Result) -> None:
    """Check what `read_result` permits but the page cannot show."""
    rows = [*result.domains, result.overall]
    for row in rows:
        if not all(map(_sound, _figures(row))):
            raise ScoreError(f"{row.name} has a figure that is negative or not finite")
        if row.low is not None and row.high is not None and row.low > row.high:
            raise ScoreError(f"{row.name} has an interval whose ends are swapped")
    names = {domain_name(row.name) for row in result.domains}
    if len(names) < len(result.domains):
        raise ScoreError("two domains have the same displayed name")
    if result.weighted is not None and not _sound(result.weighted.bpb):
        raise ScoreError("its weighted mean is negative or not finite")
    parts: dict[str, Any] = {
        "contamination": result.contamination,
        "versions": result.versions,
        "settings": result.settings,
    }
    for name, part in parts.items():
        if not isinstance(part, Mapping | None):
            raise ScoreError(f"expected a JSON object as {name}, got {type(part).__name__}")


def _figures(row: Row) -> list[float | None]:
    return [
        *(row.bpb, row.low, row.high, row.tokens_per_byte, row.token_perplexity),
        *(row.byte_perplexity, row.seconds, row.documents, row.bytes, row.tokens),
    ]


def _sound(value: float | None) -> bool:
    return value is None or (math.isfinite(value) and value >= 0)
