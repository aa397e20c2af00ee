"""Lines to documents, and the words for what is wrong with a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from barrow.archive.buffers import BufferPool
from barrow.archive.document import Document
from barrow.archive.piece import Piece
from barrow.archive.scan import scan
from barrow.errors import BadRecord

FIELDS = ("text", "meta")

# Of a bad line, this much is kept to be looked at.
_RAW_LIMIT = 1 << 20


class _TextOnly(msgspec.Struct, gc=False):
    text: str


class _MetaOnly(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    text: msgspec.Raw
    meta: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Parsed:
    """Documents of a piece with their numbers in the file, and the records that were bad."""

    documents: list[Document]
    numbers: Sequence[int]
    bad: list[BadRecord]


@dataclass(frozen=True)
class RecordForm:
    """
    How records are laid out and which fields are wanted.

    A record is an object with a string under `text_key`. Its ``meta`` object becomes the document's
    meta; other keys join it there (as ``record.KEY`` where `meta` has that key already), so nothing
    of a foreign record is lost. A field not asked for is left empty.
    """

    text_key: str = "text"
    fields: tuple[str, ...] = FIELDS

    def __post_init__(self) -> None:
        unknown = [name for name in self.fields if name not in FIELDS]
        if unknown or not self.fields:
            raise ValueError(f"fields are 'text' and 'meta', not {self.fields!r}")

    def read(self, piece: Piece, pool: BufferPool) -> Parsed:
        """Load a piece and parse it, the fastest way that is possible."""
        documents = self._scan(piece, pool)
        if documents is not None:
            return Parsed(documents, range(piece.first, piece.first + len(documents)), [])
        lines = pool.take(piece.size).data[: piece.size]
        piece.load(lines)
        return self.parse(lines, piece)

    def _scan(self, piece: Piece, pool: BufferPool) -> list[Document] | None:
        scanned = scan(piece, self.text_key, pool)
        if scanned is None:
            return None
        if self.fields == ("text",):
            return [Document(text) for text in scanned.texts()]
        try:
            metas = _METAS.decode(scanned.meta_array)
        except (ValueError, RecursionError):
            return None
        if self.fields == ("meta",):
            return [Document("", meta) for meta in metas]
        return list(map(Document, scanned.texts(), metas))

    def parse(self, data: bytes | memoryview, piece: Piece) -> Parsed:
        """Parse whole lines."""
        documents = self._parse_at_once(data)
        # The decoder also takes two records on one line, and one record on two; we do not.
        if documents is not None and len(documents) == piece.num_documents:
            return Parsed(documents, range(piece.first, piece.first + len(documents)), [])
        return self.parse_each(bytes(data), piece)

    def _parse_at_once(self, data: bytes | memoryview) -> list[Document] | None:
        if self.text_key != "text":
            return None
        try:
            if self.fields == ("text",):
                return [Document(r.text) for r in _TEXT_ONLY.decode_lines(data)]
            if self.fields == ("meta",):
                return [Document("", r.meta) for r in _META_ONLY.decode_lines(data)]
            return _DOCUMENT.decode_lines(data)
        except (ValueError, RecursionError):
            return None

    def parse_each(self, data: bytes, piece: Piece) -> Parsed:
        """Parse line by line, which tells the bad records from the good ones."""
        documents: list[Document] = []
        numbers: list[int] = []
        bad: list[BadRecord] = []
        number = piece.first
        for line in data.split(b"\n"):
            if not line.strip():
                continue
            try:
                documents.append(self._document(line))
                numbers.append(number)
            except _Bad as problem:
                bad.append(
                    BadRecord(
                        problem.cause,
                        reason=problem.reason,
                        shard=piece.shard,
                        frame=piece.frame,
                        document=number,
                        num_documents=1,
                        raw=line[:_RAW_LIMIT],
                    )
                )
            number += 1
        return Parsed(documents, numbers, bad)

    def _document(self, line: bytes) -> Document:
        try:
            record = _ANY.decode(line)
        except (ValueError, RecursionError) as error:
            raise _why_unreadable(line, error) from None
        if not isinstance(record, dict):
            raise _Bad("not-an-object", f"expected an object, found {_kind(record)}")
        if self.text_key not in record:
            keys = ", ".join(map(repr, list(record)[:8])) or "none"
            raise _Bad("no-text", f"no key {self.text_key!r} (keys: {keys}); see text_key=")
        text = record.pop(self.text_key)
        if not isinstance(text, str):
            raise _Bad(
                "text-not-string", f"{self.text_key!r} should be a string, found {_kind(text)}"
            )
        meta = record.pop("meta", None)
        if not isinstance(meta, dict):
            meta = {} if meta is None else {"meta": meta}
        for key, value in record.items():
            meta[key if key not in meta else f"record.{key}"] = value
        return Document(
            text if "text" in self.fields else "", meta if "meta" in self.fields else {}
        )


_ANY = msgspec.json.Decoder()
_DOCUMENT = msgspec.json.Decoder(Document)
_METAS = msgspec.json.Decoder(list[dict[str, Any]])
_TEXT_ONLY = msgspec.json.Decoder(_TextOnly)
_META_ONLY = msgspec.json.Decoder(_MetaOnly)


class _Bad(Exception):
    def __init__(self, reason: str, cause: str) -> None:
        super().__init__(cause)
        self.reason = reason
        self.cause = cause


def _why_unreadable(line: bytes, error: Exception) -> _Bad:
    """The reason behind a decoder's refusal, asked of the standard library's slower parser."""
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        found = line[problem.start : problem.end].hex(" ")
        return _Bad("invalid-utf8", f"invalid UTF-8 at byte {problem.start} ({found})")
    try:
        record = json.loads(line)
    except RecursionError:
        return _Bad("not-json", "nested too deeply")
    except ValueError as problem:
        start = line[:40].decode(errors="replace")
        return _Bad("not-json", f"not JSON: {problem}; the line begins {start!r}")
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _Bad("unpaired-surrogate", "an escape \\ud800–\\udfff without its other half")
    return _Bad("not-json", str(error))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
