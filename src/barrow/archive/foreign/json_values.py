"""JSON values one after another, or inside one array, made into JSON lines.

A .json file may be an array of records, one record over several lines, or JSON lines under another
name. Values are separated by counting brackets outside strings, holding one at a time. What is not
JSON becomes a line of its own, which the reader refuses with a reason; its neighbours are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from barrow.archive.piece import WHITE
from barrow.errors import DamagedShard

# Inside a value only brackets and strings matter; between values also what separates them.
_INSIDE = re.compile(rb'["\[\]{}]')
_BETWEEN = re.compile(rb'["\[\]{},\n]')
# A string ends at a quote, or at a line break, which JSON does not allow in it.
_REST_OF_STRING = re.compile(rb'[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+', re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def split_values(
    content: Iterator[memoryview | DamagedShard], name: str, *, max_value: int
) -> Iterator[memoryview | DamagedShard]:
    """Content in which every top-level value, or element of a top-level array, is one line."""
    splitter = _Splitter(max_value)
    damaged = False
    for item in content:
        if isinstance(item, DamagedShard):
            damaged = True
            yield item
            lines = splitter.give_up()
        else:
            lines = splitter.feed(item)
        if lines:
            yield memoryview(lines)
    rest = splitter.give_up()
    if rest:
        yield memoryview(rest)
    if not damaged and (rest or splitter.is_open):
        yield DamagedShard(
            "the file ends before its last JSON value does", reason="truncated", shard=name
        )


class _Splitter:
    """`_text` begins where the current value begins, and is scanned up to `_at`."""

    def __init__(self, max_value: int) -> None:
        self._max_value = max_value
        self._text = bytearray()
        self._at = 0
        self._depth = 0
        self._in_string = False
        self._array: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether an array was begun and not ended."""
        return self._array is True

    def feed(self, data: bytes | memoryview) -> bytes:
        """The lines completed by some more bytes."""
        text = self._text
        text += data
        if self._array is None:
            self._begin()
        lines: list[bytes] = []
        start = 0
        while self._at < len(text):
            if self._in_string:
                self._at = _REST_OF_STRING.match(text, self._at).end()  # type: ignore[union-attr]
                following = text[self._at : self._at + 1]
                if following == b'"':
                    self._at += 1
                    self._in_string = False
                elif following == b"\n" or text[self._at : self._at + 2] == b"\\\n":
                    lines.append(_line(text[start : self._at]))
                    start = self._at
                    self._depth, self._in_string = 0, False
                else:
                    break  # at the end, perhaps before the other half of an escape
                continue
            token = (_INSIDE if self._depth else _BETWEEN).search(text, self._at)
            if token is None:
                self._at = len(text)
                break
            self._at = token.end()
            character = token.group()
            if character == b'"':
                self._in_string = True
            elif character in b"{[":
                if not self._depth:  # what is before it does not belong to it
                    lines.append(_line(text[start : token.start()]))
                    start = token.start()
                self._depth += 1
            elif character in b"}]" and self._depth:
                self._depth -= 1
                if not self._depth:
                    lines.append(_line(text[start : self._at]))
                    start = self._at
            else:
                closes = character == b"]" and self._array is True
                separates = character in b",\n"
                end = token.start() if closes or separates else self._at
                lines.append(_line(text[start:end]))
                start = self._at
                if closes:
                    self._array = False
        del text[:start]
        self._at -= start
        if len(text) > self._max_value:
            # Pass it on without a line end: the line reader refuses what is too long.
            lines.append(bytes(text[: self._at]).replace(b"\n", b" "))
            del text[: self._at]
            self._at = 0
        return b"".join(lines)

    def _begin(self) -> None:
        """Find out whether the values are in an array."""
        stripped = self._text.removeprefix(_BYTE_ORDER_MARK).lstrip(WHITE)
        if stripped:
            self._array = stripped.startswith(b"[")
            del self._text[: len(self._text) - len(stripped) + (1 if self._array else 0)]

    def give_up(self) -> bytes:
        """The incomplete rest, as a line."""
        rest = _line(self._text)
        self._text.clear()
        self._at = self._depth = 0
        self._in_string = False
        return rest


def _line(value: bytearray) -> bytes:
    line = bytes(value).strip(WHITE)
    if not line or b"\n" not in line:
        return line + b"\n" if line else b""
    try:
        return msgspec.json.format(line, indent=-1) + b"\n"
    except (ValueError, RecursionError):
        # Do not repair a line break inside a string: leave a character that JSON does not allow
        # there either, so that the record is refused with a reason.
        return line.replace(b"\n", b"\x0b") + b"\n"
