"""What a reader is: a raw file in, documents and rejects out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from barrow.archive import Document

EXCERPT = 2_000


@dataclass(frozen=True, slots=True)
class Reject:
    """Something in a raw file that did not become a document, and why.

    `reason` is a short fixed name to count by, `cause` a description, `member` the place in the
    file, `excerpt` the beginning of what was dropped, `own_id` the id that the file gives it.
    """

    reason: str
    cause: str
    member: str = ""
    excerpt: str = ""
    own_id: str | int | None = None


Item = Document | Reject
Span = tuple[int, ...]


@runtime_checkable
class Reader(Protocol):
    """A raw format: a frozen dataclass that inherits from this, its settings as fields.

    `read` reads one file as its owner publishes it and yields documents in the order of the file.
    It sets in `meta` only what the file states: ``title``, ``url``, ``date`` (ISO 8601),
    ``language`` (ISO 639-1), ``licence``, ``member`` (the place inside the file: a post's number, a
    path in a tar), and keys of its own. What cannot be read is a `Reject`; a reader raises only for
    wrong arguments. Its memory does not grow with the file.

    `extractor` is a name and a version, as provenance records them: ``warc/1``. The version is
    raised whenever the output for the same bytes changes. `patterns` are globs, relative to the
    domain's folder, of the files it reads; with `folders`, each folder directly under the domain's
    is read as a whole too, as a repository is.
    """

    extractor: ClassVar[str]
    patterns: ClassVar[tuple[str, ...]]
    folders: ClassVar[bool] = False
    beside: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def read(self, path: Path) -> Iterator[Item]:
        """The documents and rejects of one file."""

    def spans(self, path: Path, target: int) -> list[Span]:  # noqa: ARG002
        """Parts of a file of about `target` bytes, for tasks of their own; none where it cannot be
        cut.

        Bytes are counted decompressed. Each part is what `read_span` needs to find it again, as a
        tuple of integers. All of them, one after the other, give what `read` does: the same
        documents with the same `member`.
        """
        return []

    def read_span(self, path: Path, span: Span) -> Iterator[Item]:  # noqa: ARG002
        """The documents and rejects of a part of a file."""
        assert type(self).spans is Reader.spans, f"{type(self).__name__} has no read_span"
        return self.read(path)

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """Paths in groups, where a document is made of several files (a week of daily logs)."""
        return [(path,) for path in paths]

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        """The documents and rejects of a group of more than one file."""
        for path in paths:
            yield from self.read(path)

    def open_beside(
        self,
        paths: Sequence[Path],  # noqa: ARG002
    ) -> AbstractContextManager[Callable[[Path], Iterator[Item]]]:
        """`read`, with data from other files of the domain (a list of links with scores).

        `beside` are globs of those others; they are opened once for many files. When one of them
        changes, everything is read again.
        """
        return nullcontext(self.read)


_SHOWN = (
    *("pile_set_name", "id", "record.id", "source", "member", "url", "licence", "language"),
    "extractor",
)


def rejected(text: str, meta: Mapping[str, Any], **why: Any) -> Document:
    """The reject of a document that a later stage drops: the beginning of its text, and why."""
    return Document(excerpt(text), {key: meta[key] for key in _SHOWN if key in meta} | why)


def excerpt(data: bytes | str) -> str:
    """The beginning of what was dropped, as text that can be shown."""
    if isinstance(data, bytes):
        return data[:EXCERPT].decode("utf-8", "backslashreplace")
    return data[:EXCERPT].encode("utf-8", "backslashreplace").decode()
