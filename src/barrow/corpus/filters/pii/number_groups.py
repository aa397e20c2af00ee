"""A number as people write it: groups of digits with marks between."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_DIGITS = re.compile(rb"\d+")


class Groups(NamedTuple):
    """Groups of digits, the marks after each but the last, and where each group ends."""

    digits: list[str]
    marks: list[bytes]
    stops: list[int]

    @property
    def sizes(self) -> list[int]:
        return [len(group) for group in self.digits]


def groups_of(data: bytes, start: int, stop: int) -> Groups:
    """The groups in a window."""
    spans = [match.span() for match in _DIGITS.finditer(data, start, stop)]
    return Groups(
        [data[a:b].decode() for a, b in spans],
        [data[a:b] for (_, a), (b, _) in pairwise(spans)],
        [b for _, b in spans],
    )


def is_alone(data: bytes, start: int, stop: int) -> bool:
    """Whether a number is neither part of a word nor next to other marks and digits."""
    before, after = data[max(0, start - 2) : start], data[stop : stop + 2]
    if before[-1:].isalnum() or before[-1:] in (b"-", b"_", b"/", b"=", b"#", b"$", b"&", b"%"):
        return False
    if before[:1].isdigit() and before[-1:] in (b".", b",", b":", b"+", b"*", b"^"):
        return False
    if before in (b"\xc2\xa3", b"\x82\xac"):  # £, €
        return False
    return not (after[:1].isalnum() or after[:1] in (b"_", b"%") or _continues(after))


def _continues(after: bytes) -> bool:
    return after[:1] in (b"-", b"/", b",", b":", b".") and after[1:].isdigit()


def no_numbers_beside(data: bytes, start: int, stop: int) -> bool:
    """Columns of a table are not a phone number."""
    before, after = data[max(0, start - 3) : start].rstrip(), data[stop : stop + 4].lstrip(b" \t-.")
    return not (before[-1:].isdigit() or after[:1].isdigit())
