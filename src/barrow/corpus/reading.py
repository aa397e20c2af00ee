"""What a reader is: a raw file in, documents and rejects out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.archive import Document

EXCERPT = 2_000


@dataclass(frozen=True, slots=True)
class Reject:
    """Something in a raw file that did not become a document, and why.

    `reason` is a short fixed name to count by, `cause` says it in words, `member` tells where in
    the file, `excerpt` shows the beginning of what was dropped.
    """

    reason: str
    cause: str
    member: str = ""
    excerpt: str = ""


Item = Document | Reject


@dataclass(frozen=True)
class Reader:
    """A raw format.

    `read` goes through one file as its owner publishes it and yields documents in the order of the
    file. It sets in `meta` only what the file says: ``title``, ``url``, ``date`` (ISO 8601),
    ``language`` (ISO 639-1), ``licence``, ``member`` (the place inside the file: a post's number, a
    path in a tar), and keys of its own. Whatever cannot be read is a `Reject`; a reader raises only
    for its caller's mistakes. Its memory does not grow with the file.

    `patterns` are globs, relative to the domain's folder, of the files it reads. `version` is
    raised whenever the output for the same bytes changes. Where a document is made of several files
    (a week of daily logs), `group` sorts paths into groups, and `read_group` reads one. With
    `folders`, each folder directly under the domain's is read as a whole, as a repository is.
    Where files depend on what others in the domain's folder say (a list of links with scores),
    `beside` are globs of those others: `open_beside` takes their paths, once for many files that
    are read, and what it opens is given to `read` as ``beside``. When one of them changes,
    everything is read again.
    """

    name: str
    version: int
    read: Callable[..., Iterator[Item]]
    patterns: tuple[str, ...]
    folders: bool = False
    group: Callable[[Sequence[Path]], list[tuple[Path, ...]]] | None = None
    read_group: Callable[[Sequence[Path]], Iterator[Item]] | None = None
    beside: tuple[str, ...] = ()
    open_beside: Callable[[Sequence[Path]], AbstractContextManager[Any]] | None = None

    @property
    def extractor(self) -> str:
        """Name and version, as provenance records them."""
        return f"{self.name}/{self.version}"


def excerpt(data: bytes | str) -> str:
    """The beginning of what was dropped, as text that can be shown."""
    if isinstance(data, bytes):
        return data[:EXCERPT].decode("utf-8", "backslashreplace")
    return data[:EXCERPT].encode("utf-8", "backslashreplace").decode()
