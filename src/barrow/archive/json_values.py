"""
JSON values one after another, or inside one array, made into JSON lines.

A .json file may be an array of records, one record over several lines, or JSON lines under another
name. Values are told apart by counting brackets outside strings, without holding more than one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from barrow.errors import DamagedShard

_BRACKET_OR_QUOTE = re.compile(rb'["\[\]{}]')
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SEPARATORS = b" \t\r\n,"


def split_values(
    content: Iterator[memoryview | DamagedShard], name: str, *, max_value: int
) -> Iterator[memoryview | DamagedShard]:
    """Content in which every top-level value, or element of a top-level array, is one line."""
    splitter = _Splitter(max_value)
    for item in content:
        if isinstance(item, DamagedShard):
            yield item
            return
        lines = splitter.feed(bytes(item))
        if lines:
            yield memoryview(lines)
    problem = splitter.finish()
    if problem:
        yield DamagedShard(problem, reason="truncated", shard=name)


class _Splitter:
    def __init__(self, max_value: int) -> None:
        self._max_value = max_value
        self._rest = b""
        self._scanned = 0
        self._depth = 0
        self._in_string = False
        self._in_array: bool | None = None

    def feed(self, data: bytes) -> bytes:
        """The lines completed by some more bytes."""
        text = self._rest + data
        start, at = 0, self._scanned
        if self._in_array is None:
            stripped = text.lstrip(_SEPARATORS + b"\xef\xbb\xbf")
            if not stripped:
                return b""
            self._in_array = stripped.startswith(b"[")
            start = at = len(text) - len(stripped) + (1 if self._in_array else 0)
        lines: list[bytes] = []
        while at < len(text):
            if self._in_string:
                end = _REST_OF_STRING.match(text, at).end()  # type: ignore[union-attr]
                self._in_string = text[end : end + 1] != b'"'
                if self._in_string:
                    at = end  # before a backslash whose other half has not come yet
                    break
                at = end + 1
                continue
            token = _BRACKET_OR_QUOTE.search(text, at)
            if token is None:
                at = len(text)
                break
            at = token.end()
            character = token.group()
            if character == b'"':
                self._in_string = True
            elif character in b"{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    lines.append(self._line(text[start:at]))
                    start = at
                elif self._depth < 0:
                    # The end of the array; what stands before it, after a comma, is a value too.
                    lines.append(self._line(text[start : token.start()]))
                    start, self._depth, self._in_array = at, 0, False
        self._rest = text[start:]
        self._scanned = at - start
        if len(self._rest) > self._max_value:
            # Let it go by without a line end: the reader of lines refuses what is too long.
            done = self._scanned
            lines.append(self._rest[:done].replace(b"\n", b" "))
            self._rest, self._scanned = self._rest[done:], 0
        return b"".join(lines)

    @staticmethod
    def _line(value: bytes) -> bytes:
        value = value.strip(_SEPARATORS)
        if not value:
            return b""
        if b"\n" not in value:
            return value + b"\n"
        try:
            return msgspec.json.format(value, indent=-1) + b"\n"
        except (ValueError, RecursionError):
            # A line break inside a string must not be mended in passing: leave a character that
            # JSON does not allow there either, so that the record is refused with its reason.
            return value.replace(b"\n", b"\x0b") + b"\n"

    def finish(self) -> str | None:
        """What is wrong at the end of the file, if anything."""
        rest = self._rest.strip(_SEPARATORS)
        if rest or self._depth or self._in_array:
            return "the file ends before its last JSON value does"
        return None
