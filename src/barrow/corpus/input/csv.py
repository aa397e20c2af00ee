"""Records of a CSV file (RFC 4180) as bytes, one at a time, whatever the size of its fields.

The module `csv` has one field limit for the whole process, and needs text, but the encoding of
these files may change from record to record. Newlines may be inside quotes. PostgreSQL may use
other quotes, and escape them by a backslash, where RFC 4180 doubles them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Dialect:
    """How values are quoted, and how quotes inside them are escaped."""

    def __init__(self, quote: bytes = b'"', escape: bytes | None = None) -> None:
        mark, before = re.escape(quote), re.escape(escape or quote)
        inside = rb"%b%b" % (mark, mark) if before == mark else rb"%b." % before
        plain = rb"[^%b]" % mark if before == mark else rb"[^%b%b]" % (mark, before)
        self._quote = quote
        self._is_doubled = before == mark
        self._field = re.compile(
            rb"(?:%b((?:%b++|%b)*+)%b|(?!%b)([^,]*+))(?:(,)|\Z)"
            % (mark, plain, inside, mark, mark),
            re.DOTALL,
        )
        self._escaped = re.compile(rb"%b(%b|%b)" % (before, mark, before))
        self._escape = escape or quote

    def num_quotes(self, line: bytes) -> int:
        """Quotes that begin or end a value; an odd number leaves one open."""
        if not self._is_doubled and self._escape in line:
            line = self._escaped.sub(b"", line)
        return line.count(self._quote)

    def fields(self, record: bytes) -> list[bytes] | None:
        """The values of a record; None if it cannot be parsed."""
        fields: list[bytes] = []
        at = 0
        while found := self._field.match(record, at):
            quoted, plain, comma = found.groups()
            if quoted is None:
                fields.append(plain)
            else:
                fields.append(
                    self._escaped.sub(rb"\1", quoted) if self._escape in quoted else quoted
                )
            at = found.end()
            if comma is None:
                return fields
        return None


RFC_4180 = Dialect()


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be parsed; `reason` is ``malformed``, ``too-large``, ``truncated``.

    `line` is the number of its first line, from 1; `start` its first bytes.
    """

    reason: str
    cause: str
    line: int
    start: bytes


def csv_records(
    file: BinaryIO, *, max_record: int, dialect: Dialect = RFC_4180
) -> Iterator[list[bytes] | BadRecord]:
    """Each record as its fields. A record over `max_record` bytes is skipped.

    Where a quote is never closed, only its line is lost.
    """
    lines = _Lines(file, max_record)
    while (first := lines.next()) is not None:
        number = lines.number
        if len(first) > max_record:
            yield BadRecord("too-large", f"over {max_record:,} bytes", number, first[:2000])
            continue
        taken = [first]
        size, num_quotes = len(first), dialect.num_quotes(first)
        while num_quotes % 2 and size <= max_record and (line := lines.next()) is not None:
            taken.append(line)
            size += len(line)
            num_quotes += dialect.num_quotes(line)
        if num_quotes % 2 and size > max_record:
            yield BadRecord("malformed", "a quote that is not closed", number, first[:2000])
            lines.put_back(taken[1:])
        elif num_quotes % 2:
            yield BadRecord("truncated", "ends inside quotes", number, b"".join(taken)[:2000])
        elif (record := b"".join(taken).rstrip(b"\r\n")) or len(taken) > 1:
            record = record.removeprefix(_BYTE_ORDER_MARK) if number == 1 else record
            fields = dialect.fields(record)
            bad = BadRecord("malformed", "characters after a closing quote", number, record[:2000])
            yield bad if fields is None else fields


class _Lines:
    """Lines of a file, some of which may be put back; the rest of an endless one is dropped."""

    def __init__(self, file: BinaryIO, max_line: int) -> None:
        self._file = file
        self._max_line = max_line
        self._waiting: deque[bytes] = deque()
        self.number = 0

    def next(self) -> bytes | None:
        """The next line; one over the limit is cut just after it."""
        line = self._waiting.popleft() if self._waiting else self._read()
        self.number += 1
        return line or None

    def _read(self) -> bytes:
        line = self._file.readline(self._max_line + 1)
        more = line
        while len(line) > self._max_line and more and not more.endswith(b"\n"):
            more = self._file.readline(1 << 16)
        return line

    def put_back(self, lines: list[bytes]) -> None:
        """Have these come next."""
        self._waiting.extendleft(reversed(lines))
        self.number -= len(lines)
