"""Placeholder characters, used while wikitext becomes text; none of them is in the input.

XML allows none of these controls; other input is cleaned of them first.
"""

from __future__ import annotations

import re

STASHED = "\x01"  # before the number of a piece that is put back at the end
STASHED_END = "\x02"
PIPE = "\x03"  # a "|" that separates nothing
GONE = "\x04"  # something was dropped here
BREAK = "\x05"  # a line break inside a paragraph

_MARKS = STASHED + STASHED_END + PIPE + GONE + BREAK
CONTROLS = re.compile(r"[\x00\x06-\x08\x0b-\x1f\x7f-\x9f\ufeff]")

_SEPARATORS = " ,;:"
_OPENING, _CLOSING = ("(", "["), (")", "]")
_STOPS = (",", ".", ";", ":", "!", "?", ")", "]", "\n", " ")
_TAIL = 64


def without_marks(text: str) -> str:
    """Text that has none of the marks, with one kind of line end."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for mark in _MARKS:
        if mark in text:
            text = text.replace(mark, "")
    return text


def gone_after(before: str) -> str:
    """A mark for something dropped here; none where it was attached to a word."""
    return GONE if not before or before[-1] in " \n([\x04*#:;" else ""


def close_gaps(text: str) -> str:
    """Text without what is left around something dropped: ``( ; )``, doubled blanks.

    Only where something was dropped: ``f()`` stays as it is.
    """
    if GONE not in text:
        return text
    first, *pieces = text.split(GONE)
    parts = [first]
    for piece in pieces:
        # The end of the text before is cut repeatedly, so it is kept short.
        before = parts.pop()
        while not before and parts:
            before = parts.pop()
        if len(before) > 2 * _TAIL:
            parts.append(before[:-_TAIL])
            before = before[-_TAIL:]
        before, piece = _joined(before, piece)
        parts.append(before)
        if piece:
            parts.append(piece)
    return "".join(parts)


def _joined(before: str, after: str) -> tuple[str, str]:
    """The text before and after a gap, once the gap is closed."""
    left, right = before.rstrip(_SEPARATORS), after.lstrip(_SEPARATORS)
    opened, closed = left.endswith(_OPENING), right.startswith(_CLOSING)
    if opened and closed:
        before, after = left[:-1], right[1:]
        # Brackets around empty brackets; deeper ones are left.
        for _ in range(4):
            if not (before.endswith(_OPENING) and after.startswith(_CLOSING)):
                break
            before, after = before[:-1], after[1:]
    elif opened or closed:
        return left, right
    elif before != left and after != right and before[len(left)] in ",;" and after[0] in ",;":
        return before.rstrip(" "), after[1:]
    if not before or before.endswith(("\n", " ")):
        if before.endswith(" ") and after.startswith(_STOPS):
            return before.rstrip(" "), after
        if not before.endswith(" "):
            return before, after.lstrip(" ")
    return before, after
