"""Records of WARC files (0.18, 1.0, 1.1) and ARC files (1, 2); broken ones are skipped.

Both are records one after another: a header that ends with a length, then as many bytes. Where no
record begins after one, the length was wrong or something is missing; reading continues at the next
line that begins a record. Lines may end with CR LF, as they should, or with LF.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple, cast

from barrow.corpus.input.damaged_members import (
    DICTIONARY_FRAME,
    Piece,
    decompressed_pieces,
    is_compressed,
)
from barrow.corpus.input.decompress import BadArchive
from barrow.corpus.readers.reader import EXCERPT
from barrow.corpus.readers.warc.headers import field, header_fields, whole_record

_MAX_HEADER = 1 << 16
# How many bytes of a file may be read again because of wrong record lengths.
_MAX_AGAIN = 1 << 30
_WARC = re.compile(rb"WARC/[01]\.\d{1,2}+[ \t]*+\r?\n[A-Za-z-]++[ \t]*+:")
_ARC_HERE = re.compile(rb"[a-z][a-z0-9+.-]{1,15}+:[^\r\n]*+\r?\n")
_ARC_LATER = re.compile(rb"\n(?=([a-z][a-z0-9+.-]{1,15}+:[^\r\n]*+\r?\n))")
_LENGTH = re.compile(rb"\n(?i:content-length)[ \t]*+:[ \t]*+([^\r\n]*+)")
_TYPE = re.compile(rb"\n(?i:warc-type)[ \t]*+:[ \t]*+([A-Za-z]++)")
_HEADER_END = re.compile(rb"\n\r?\n")
_BLANKS = re.compile(rb"[\r\n\t ]*+")
_LINE = 1 << 13  # the most of a record's first line that is looked for across pieces


class Record:
    """A record: its header, its content, and where it begins, in decompressed bytes.

    The header line of an ARC record becomes the fields that a WARC record would have. With a
    `problem`, the content is only the beginning of what there is. It is ``data[start:stop]``, cut
    out when it is asked for.
    """

    __slots__ = ("_fields", "cause", "data", "header", "offset", "problem", "start", "stop")

    def __init__(
        self,
        header: bytes,
        data: bytes,
        offset: int,
        problem: str = "",
        cause: str = "",
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self.header = header
        self.data = data
        self.start = start
        self.stop = len(data) if stop is None else stop
        self.offset = offset
        self.problem = problem
        self.cause = cause
        self._fields: Mapping[bytes, bytes] | None = None

    @property
    def content(self) -> bytes:
        """All of the content. Everything else is released."""
        self.data = self.data[self.start : self.stop]
        self.start, self.stop = 0, len(self.data)
        return self.data

    @property
    def type(self) -> bytes:
        """The type in lower case; empty without one. Does not parse all fields."""
        value = field(self.header, b"warc-type")
        if isinstance(value, bytes) and value.isalpha():
            return value.lower()
        found = _TYPE.search(self.header)
        return found[1].lower() if found else self.fields.get(b"warc-type", b"")

    @property
    def fields(self) -> Mapping[bytes, bytes]:
        """Header fields by lower-case name."""
        if self._fields is None:
            is_warc = self.header.startswith(b"WARC/")
            self._fields = header_fields(self.header) if is_warc else arc_fields(self.header) or {}
        return self._fields

    def text(self, name: bytes) -> str:
        """A field as text; empty without one."""
        return self.fields.get(name, b"").decode("utf-8", "replace")


def warc_records(
    file: BinaryIO, *, max_record: int = 1 << 26, span: RecordSpan | None = None
) -> Iterator[Record]:
    """Records of a WARC or ARC file, compressed or not, or of a span of it.

    What cannot be read has a `problem`: ``broken-record`` (no header, no length, damaged, or bytes
    that belong to no record), ``truncated`` (fewer bytes than announced), ``too-large`` (more than
    `max_record`).
    """
    return _parser(file, max_record, span).records()


class RecordSpan(NamedTuple):
    """Whole records: bytes `start` to `stop` of a file, and how many bytes come out before them."""

    start: int
    stop: int
    offset: int


def record_spans(file: BinaryIO, target: int, *, max_record: int = 1 << 26) -> list[RecordSpan]:
    """Parts of a file of about `target` bytes, decompressed, with the same records as the whole.

    They begin at records that begin a member of a compressed file, as all of them should, and
    follow another whole record.
    """
    if file.read(4) == DICTIONARY_FRAME:
        return []
    parser = _parser(file, max_record)
    spans: list[RecordSpan] = []
    start = offset = looked_at = 0
    follows_whole = False
    for record in parser.records():
        place = parser.member_at(record.offset)
        if (
            follows_whole
            and not record.problem
            and place is not None
            and record.offset - offset >= target
            and record.offset >= looked_at
        ):
            spans.append(RecordSpan(start, place, offset))
            start, offset = place, record.offset
        follows_whole = not record.problem
        if record.problem:  # found by what follows it, so that must not be cut off
            looked_at = parser.looked_at
    return [*spans, RecordSpan(start, os.fstat(file.fileno()).st_size, offset)]


def _parser(file: BinaryIO, max_record: int, span: RecordSpan | None = None) -> _Parser:
    compressed = is_compressed(file)
    size = os.fstat(file.fileno()).st_size
    offset = 0
    if span is not None:
        file = cast(BinaryIO, _Stretch(file, span))
        offset = span.offset
    pieces = decompressed_pieces(file, begins_record)
    return _Parser(pieces, None if compressed else size, max_record, offset)


class _Stretch:
    """A file that begins and ends at given places."""

    def __init__(self, file: BinaryIO, span: RecordSpan) -> None:
        self._file = file
        self._stop = span.stop
        file.seek(span.start)

    def read(self, size: int, /) -> bytes:
        return self._file.read(max(0, min(size, self._stop - self._file.tell())))

    def seek(self, place: int, /) -> int:
        return self._file.seek(place)

    def tell(self) -> int:
        return self._file.tell()


def begins_record(data: bytes) -> bool:
    """Whether a WARC or ARC record begins with these bytes."""
    if _WARC.match(data):
        return True
    line = _ARC_HERE.match(data)
    return line is not None and arc_fields(line[0]) is not None


def arc_fields(line: bytes) -> dict[bytes, bytes] | None:
    """The line of an ARC record: address, IP, date, type, five more in version 2, length.

    Addresses may contain blanks. None if it is not such a line.
    """
    for num in (9, 4):
        words = line.strip().rsplit(b" ", num)
        if len(words) <= num or not (words[-1].isdigit() and len(words[-1]) < 19):
            continue
        url, _, day, kind = words[:4]
        if day.isdigit() and 8 <= len(day) <= 17:
            return _as_warc(url, day, kind, words[-1])
    return None


def _as_warc(url: bytes, day: bytes, kind: bytes, length: bytes) -> dict[bytes, bytes]:
    is_http = url.startswith((b"http:", b"https:"))
    return {
        b"warc-type": b"warcinfo" if url.startswith(b"filedesc:") else b"response",
        b"warc-target-uri": url,
        b"warc-date": b"%b-%b-%bT%b:%b:%bZ"
        % (day[:4], day[4:6], day[6:8], day[8:10], day[10:12], day[12:14]),
        b"content-length": length,
        b"content-type": b"application/http" if is_http else kind,
    }


class _Parser:
    """A place in the pieces of a file, and what of them is held around it."""

    def __init__(
        self, pieces: Iterator[Piece], size: int | None, max_record: int, offset: int
    ) -> None:
        self._pieces = pieces
        self._member: tuple[int, int] | None = None  # where the last one begins, and what it gives
        self._size = size  # of all pieces, where that is known
        self._max_record = max_record
        self._held = b""
        self._at = 0
        self._offset = offset  # of `_held` in the decompressed file
        self._ahead: Piece | None = None
        self._is_arc = False
        self._is_torn = False  # whether the bytes from here on are those of a record given up
        self._again = 0

    def records(self) -> Iterator[Record]:
        is_first = True
        while True:
            if self._at == len(self._held):
                piece = self._take_piece()
                if piece is None:
                    return
                if piece.damage is not None:
                    yield _damaged(piece.damage, b"", b"", self._offset)
                self._hold(piece.data, 0)
                if piece.begins is not None:
                    self._member = piece.begins, self._offset
                self._is_torn = self._is_torn and piece.begins is None
                continue
            record = self._whole_record()
            if record is None:
                self._at = _BLANKS.match(self._held, self._at).end()  # type: ignore[union-attr]
                if self._at == len(self._held):
                    continue
                if is_first:
                    self._is_arc = self._begins_arc()
                record = self._record()
            is_first = False
            if record is not None:
                yield record

    @property
    def looked_at(self) -> int:
        """How many bytes of the decompressed file were looked at."""
        return self._offset + len(self._held) + (len(self._ahead.data) if self._ahead else 0)

    def member_at(self, offset: int) -> int | None:
        """Where in the file the member begins that gives the bytes from `offset` on."""
        if self._size is not None:  # nothing is compressed
            return offset
        return self._member[0] if self._member and self._member[1] == offset else None

    def _begins_arc(self) -> bool:
        line = _ARC_HERE.match(self._held, self._at)
        if line is None:
            return False
        return line[0].startswith(b"filedesc:") or arc_fields(line[0]) is not None

    # Bytes ----------------------------------------------------------------------------------------

    def _peek(self) -> Piece | None:
        if self._ahead is None:
            self._ahead = next(self._pieces, None)
        return self._ahead

    def _take_piece(self) -> Piece | None:
        piece, self._ahead = self._ahead, None
        return piece if piece is not None else next(self._pieces, None)

    def _hold(self, data: bytes, at: int) -> None:
        self._offset += len(self._held)
        self._held, self._at = data, at

    def _at_seam(self) -> bool:
        """Whether nothing, damage, or a member that begins a record follows what is held."""
        piece = self._peek()
        if piece is None or piece.damage is not None:
            return True
        return piece.begins is not None and begins_record(piece.data)

    def _hold_more(self) -> bool:
        """Add the next piece to what is held; False at a seam."""
        if self._at_seam():
            return False
        piece = self._take_piece()
        assert piece is not None
        self._offset += self._at
        self._held, self._at = self._held[self._at :] + piece.data, 0
        return True

    # Records --------------------------------------------------------------------------------------

    def _whole_record(self) -> Record | None:
        """The record that begins here if all of it is held and it is regular, else None.

        Nearly every record is; the result is that of `_record`.
        """
        at = self._at
        found = None if self._is_arc else whole_record(self._held, at, _MAX_HEADER)
        if found is None:
            return None
        start, stop = found
        if stop - start > self._max_record:
            return None
        self._at = stop + 4
        self._is_torn = False
        return Record(self._held[at:start], self._held, self._offset + at, start=start, stop=stop)

    def _record(self) -> Record | None:
        """The record that begins here; None if these bytes were counted already."""
        end = self._header_end()
        if end is None:
            return self._stray()
        self._is_torn = False
        offset = self._offset + self._at
        header = self._held[self._at : end]
        length = self._length(header)
        if length is None:
            self._at = end
            self._is_torn = True
            return Record(header, b"", offset, "broken-record", "a header without a length")
        return self._content(header, end, length, offset)

    def _length(self, header: bytes) -> int | None:
        if self._is_arc:
            digits = (arc_fields(header) or {}).get(b"content-length", b"")
        else:
            found = _LENGTH.search(header)
            digits = found[1].rstrip() if found else b""
        return int(digits) if digits.isdigit() and len(digits) < 19 else None

    def _header_end(self) -> int | None:
        """Where the content begins; None if no header begins here, or it does not end."""
        while True:
            held, at = self._held, self._at
            if self._is_arc:
                found = _ARC_HERE.match(held, at)
                is_begin = found is not None and arc_fields(found[0]) is not None
                may_begin = b"\n" not in held[at : at + _LINE]
            else:
                is_begin = held.startswith(b"WARC/", at)
                found = _HEADER_END.search(held, at, at + _MAX_HEADER) if is_begin else None
                may_begin = is_begin or b"WARC/".startswith(held[at : at + 5])
            if is_begin and found is not None:
                return found.end()
            if not may_begin or len(held) - at >= _MAX_HEADER or not self._hold_more():
                return None

    def _content(self, header: bytes, start: int, length: int, offset: int) -> Record:
        stop = start + length
        if self._size is not None and self._offset + stop > self._size:
            # So much cannot follow: the file was cut, or the length is wrong.
            self._at, self._is_torn = start, True
            cause = f"{self._offset + stop - self._size:,} bytes are missing"
            return _broken(header, self._held[start:], offset, "truncated", cause)
        if stop > len(self._held):
            return self._long_content(header, start, length, offset)
        self._at = stop
        if length > self._max_record:
            return self._too_large(header, self._held[start:stop], length, offset)
        return self._checked(Record(header, self._held[start:stop], offset))

    def _long_content(self, header: bytes, start: int, length: int, offset: int) -> Record:
        """Content that continues in further pieces."""
        parts = [self._held[start:]]
        num_held = num = len(parts[0])
        while num < length and not self._at_seam():
            piece = self._take_piece()
            assert piece is not None
            num += len(piece.data)
            if num_held <= self._max_record:
                parts.append(piece.data)
                num_held = num
            self._hold(piece.data, len(piece.data))
        extra = max(0, num - length)
        self._at = len(self._held) - extra
        if num < length:
            content = b"".join(parts) if num_held == num else None
            return self._short(header, content, length - num, offset)
        if length > self._max_record:
            return self._too_large(header, b"".join(parts), length, offset)
        last = parts[-1]
        parts[-1] = last[: len(last) - extra]
        return self._checked(Record(header, b"".join(parts), offset))

    def _too_large(self, header: bytes, content: bytes, length: int, offset: int) -> Record:
        cause = f"{length:,} bytes, more than {self._max_record:,}"
        return _broken(header, content, offset, "too-large", cause)

    def _checked(self, record: Record) -> Record:
        """The same record, unless its length reaches into the next one."""
        at = _BLANKS.match(self._held, self._at).end()  # type: ignore[union-attr]
        rest = self._held[at : at + 5]
        if rest == b"WARC/" or not rest or self._may_begin(at):
            self._at = at
            return record
        length = len(record.content)
        if not self._go_back(record.content, self._offset + self._at - length):
            return record  # what follows will be a record of its own, or stray
        cause = f"its length of {length:,} bytes reaches into the next record"
        return _broken(record.header, record.content, record.offset, "broken-record", cause)

    def _short(self, header: bytes, content: bytes | None, missing: int, offset: int) -> Record:
        """A record of which bytes are missing; `content` is None if it was too much to hold."""
        piece = self._peek()
        if piece is not None and piece.damage is not None:
            self._ahead = None
            record = _damaged(piece.damage, header, content or b"", offset)
        else:
            cause = f"{missing:,} bytes are missing"
            record = _broken(header, content or b"", offset, "truncated", cause)
        if content is not None:
            self._go_back(content, self._offset + len(self._held) - len(content))
        return record

    def _go_back(self, content: bytes, offset: int) -> bool:
        """Go to the first record that begins inside a record's content; False if there is none."""
        if self._again > _MAX_AGAIN:
            return False
        position = self._later(content + self._held[self._at : self._at + _LINE], 0)
        if not 0 <= position < len(content):
            return False
        self._again += len(content)
        self._held, self._at = content[position:] + self._held[self._at :], 0
        self._offset = offset + position
        return True

    def _may_begin(self, at: int) -> bool:
        """Whether a record may begin in the bytes held."""
        if not self._is_arc:
            return b"WARC/".startswith(self._held[at : at + 5])
        line = _ARC_HERE.match(self._held, at)
        if line is None:
            return b"\n" not in self._held[at : at + _LINE]
        return arc_fields(line[0]) is not None

    def _later(self, data: bytes, start: int) -> int:
        """Where the next record begins; -1 if none does. ARC records begin with a line."""
        if not self._is_arc:
            found = _WARC.search(data, start)
            return found.start() if found else -1
        candidates = _ARC_LATER.finditer(data, start)
        return next((c.end() for c in candidates if arc_fields(c[1]) is not None), -1)

    def _stray(self) -> Record | None:
        """Go to the next record. What is passed over is one, unless it was given up already."""
        sample, offset = self._held[self._at : self._at + EXCERPT], self._offset + self._at
        position = self._later(self._held, self._at + 1)
        while position < 0:
            # A line may continue in the next piece.
            self._at = max(self._at, len(self._held) - _LINE)
            has_more = self._hold_more()
            position = self._later(self._held, 0) if has_more else len(self._held)
        self._at = position
        piece = self._ahead if position == len(self._held) else None
        if piece is not None and piece.damage is not None:
            self._ahead = None
            return _damaged(piece.damage, b"", sample, offset)
        if self._is_torn:
            self._is_torn = False
            return None
        num = self._offset + position - offset
        if sample.startswith(b"WARC/") and position == len(self._held) and num < _MAX_HEADER:
            return Record(b"", sample, offset, "truncated", "a header that does not end")
        cause = f"{num:,} bytes that belong to no record"
        return Record(b"", sample, offset, "broken-record", cause)


def _broken(header: bytes, content: bytes, offset: int, problem: str, cause: str) -> Record:
    return Record(header, content[:EXCERPT], offset, problem, cause)


def _damaged(damage: BadArchive, header: bytes, content: bytes, offset: int) -> Record:
    problem = "truncated" if damage.reason == "truncated" else "broken-record"
    return _broken(header, content, offset, problem, damage.cause)
