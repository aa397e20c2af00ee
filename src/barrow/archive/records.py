"""Lines to documents, and descriptions of bad lines."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from barrow.archive.buffers import BufferPool
from barrow.archive.document import Document
from barrow.archive.piece import Piece, is_blank
from barrow.archive.scan import Scanned, scan
from barrow.errors import BadRecord, DamagedShard

FIELDS = ("text", "meta")

# How much of a bad line is kept.
RAW_LIMIT = 1 << 20

# JSON nested deeper than this is refused, wherever it is read.
MAX_DEPTH = 200
_BRACKETS_AND_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parsed:
    """Documents of a piece with their numbers in the file, and the records that were bad."""

    documents: list[Document]
    numbers: Sequence[int]
    bad: Iterable[BadRecord]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded piece: scanned, or as lines for the general path."""

    piece: Piece
    scanned: Scanned | None
    lines: bytes | None


@dataclass(frozen=True)
class RecordForm:
    """The format of records, and the fields to read.

    A record is an object with a string under `text_key`. Its ``meta`` object becomes the document's
    meta; other keys join it there (as ``record.KEY`` where `meta` has that key already), so nothing
    of a foreign record is lost. A field not asked for is left empty.
    """

    text_key: str = "text"
    fields: tuple[str, ...] = FIELDS

    def __post_init__(self) -> None:
        unknown = [name for name in self.fields if name not in FIELDS]
        if unknown or not self.fields:
            raise ValueError(f"fields must be 'text' or 'meta', got {self.fields!r}")

    def load(self, piece: Piece, pool: BufferPool) -> Loaded:
        """Decompress a piece, and scan it where that is possible."""
        scanned = scan(piece, self.text_key, pool)
        return Loaded(piece, scanned, piece.lines() if scanned is None else None)

    def finish(self, loaded: Loaded) -> Parsed:
        """The documents of a piece that was loaded."""
        piece, scanned = loaded.piece, loaded.scanned
        metas = scanned.metas() if scanned is not None else None
        if scanned is None or metas is None:
            lines = loaded.lines if loaded.lines is not None else piece.lines()
            return self.parse(lines, piece)
        numbers = range(piece.first, piece.first + len(metas))
        if self.fields == ("text",):
            return Parsed([Document(text) for text in scanned.texts()], numbers, ())
        if self.fields == ("meta",):
            return Parsed([Document("", meta) for meta in metas], numbers, ())
        return Parsed(list(map(Document, scanned.texts(), metas)), numbers, ())

    def parse(self, data: bytes, piece: Piece) -> Parsed:
        """Parse line by line, to separate bad records from good ones."""
        documents: list[Document] = []
        numbers = array("q")
        bad = BadLines(data, piece, self)
        number, at = piece.first, 0
        for line in data.split(b"\n"):
            end = at + len(line)
            if not is_blank(line):
                document = self._document(line)
                if document is None:
                    bad.add(number, at, end)
                else:
                    documents.append(document)
                    numbers.append(number)
                number += 1
            at = end + 1
        if number - piece.first != piece.num_documents:
            raise DamagedShard(
                f"{number - piece.first:,} records; the index lists {piece.num_documents:,}",
                reason="bad-index",
                shard=piece.shard,
                frame=piece.frame,
                document=piece.first,
                num_documents=piece.num_documents,
            )
        return Parsed(documents, numbers, bad)

    def _document(self, line: bytes) -> Document | None:
        """The document on a line; None if the line is bad."""
        if _is_too_deep(line):
            return None
        try:
            if self.text_key == "text":
                return self._wanted(_DOCUMENT.decode(line))
        except (ValueError, RecursionError):
            pass  # another form of record, or a bad one
        try:
            record = _ANY.decode(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(record, dict) or not isinstance(record.get(self.text_key), str):
            return None
        text = record.pop(self.text_key)
        meta = record.pop("meta", None)
        if not isinstance(meta, dict):
            meta = {} if meta is None else {"meta": meta}
        for key, value in record.items():
            name = key
            while name in meta:
                name = f"record.{name}"
            meta[name] = value
        return self._wanted(Document(text, meta))

    def why_bad(self, line: bytes) -> tuple[str, str]:
        """The reason, and the cause in words, of a line that is not a document."""
        if _is_too_deep(line):
            return "not-json", f"nested more than {MAX_DEPTH} deep"
        try:
            record = _ANY.decode(line)
        except (ValueError, RecursionError) as error:
            return _why_unreadable(line, error)
        if not isinstance(record, dict):
            return "not-an-object", f"expected an object, got {_kind(record)}"
        if self.text_key not in record:
            keys = ", ".join(map(repr, list(record)[:8])) or "none"
            return "no-text", f"no key {self.text_key!r} (keys: {keys}); see text_key="
        kind = _kind(record[self.text_key])
        return "text-not-string", f"{self.text_key!r} must be a string, got {kind}"

    def _wanted(self, document: Document) -> Document:
        if self.fields == ("text",):
            return Document(document.text)
        if self.fields == ("meta",):
            return Document("", document.meta)
        return document


class BadLines:
    """The bad lines of a piece; the cause of each is computed on demand.

    A frame may have a million bad lines: each takes 24 bytes.
    """

    def __init__(self, data: bytes, piece: Piece, form: RecordForm) -> None:
        self._data = data
        self._piece = piece
        self._form = form
        self._places = array("q")

    def add(self, number: int, start: int, end: int) -> None:
        """Remember a line."""
        self._places.extend((number, start, end))

    def __len__(self) -> int:
        return len(self._places) // 3

    def __iter__(self) -> Iterator[BadRecord]:
        for k in range(0, len(self._places), 3):
            number, start, end = self._places[k : k + 3]
            line = self._data[start:end]
            reason, cause = self._form.why_bad(line)
            yield BadRecord(
                cause,
                reason=reason,
                shard=self._piece.shard,
                frame=self._piece.frame,
                document=number,
                num_documents=1,
                raw=line[:RAW_LIMIT],
            )


_ANY = msgspec.json.Decoder()
_DOCUMENT = msgspec.json.Decoder(Document)


def _why_unreadable(line: bytes, error: Exception) -> tuple[str, str]:
    """The reason of a decoder's refusal, from the standard library's slower parser."""
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        found = line[problem.start : problem.end].hex(" ")
        return "invalid-utf8", f"invalid UTF-8 at byte {problem.start} ({found})"
    try:
        record = json.loads(line)
    except RecursionError:
        return "not-json", "nested too deeply"
    except ValueError as problem:
        start = line[:40].decode(errors="replace")
        return "not-json", f"not JSON: {problem}; the line begins {start!r}"
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "unpaired-surrogate", "an escape \\ud800–\\udfff without its other half"
    return "not-json", str(error)


def _is_too_deep(line: bytes) -> bool:
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH + 1:
        return False
    deepest = depth = 0
    for token in _BRACKETS_AND_STRINGS.finditer(line):
        character = token.group()
        if character in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        elif character in (b"]", b"}"):
            depth -= 1
    return deepest > MAX_DEPTH + 1


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
