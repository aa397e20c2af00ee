"""The lines of a page in reading order.

The order of drawing is trusted, since most programs draw one column after the other, unless
positions contradict it: then columns are found by the gap between them, and lines are read from
top to bottom.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from barrow.corpus.text.pdf.lines import Line, Page

_STEPS = 41
_NOTE = re.compile(r"(?:\d{1,3}|[*†‡§¶]{1,3})[.)]? ?\S")


@dataclass(slots=True)
class Column:
    """Lines from top to bottom, and the notes at its foot."""

    lines: list[Line]
    notes: list[Line]


def columns_of(page: Page, *, body_size: float) -> list[Column]:
    """The columns of a page, in order; `body_size` is the font size of most of the document."""
    lines = _joined(page.lines, beside=_continues)
    gutter = _gutter(lines)
    if gutter is not None:
        lines = [piece for line in lines for piece in _split(line, gutter)]
        if _is_mixed(lines, gutter):
            lines = _by_columns(lines, gutter)
    elif _is_out_of_order(lines):
        lines = _by_rows(lines)
    columns = []
    for run in _runs(_joined(lines, beside=_same_row, gutter=gutter), gutter):
        start = _start_of_notes(run, body_size)
        columns.append(Column(run[:start], run[start:]))
    return columns


def _joined(
    lines: Iterable[Line], *, beside: Callable[[Line, Line], bool], gutter: float | None = None
) -> list[Line]:
    """Lines, joined where only a raised number or a wide blank separates them."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last is None or last.hyphen or not beside(last, line) or _parts(gutter, last, line):
            joined.append(line)
        else:
            blank = "" if line.x0 - last.x1 < 0.15 * max(last.size, line.size) else " "
            long = last if len(last.text) >= len(line.text) else line
            offset = len(last.text) + len(blank)
            joined[-1] = replace(
                last,
                text=last.text + blank + line.text,
                x1=max(last.x1, line.x1),
                y=long.y,
                size=long.size,
                tail=line.tail,
                gaps=_gaps_of(last, line, offset),
                hyphen=line.hyphen,
            )
    return joined


def _parts(gutter: float | None, last: Line, line: Line) -> bool:
    return gutter is not None and last.x1 <= gutter + 1 and line.x0 >= gutter - 1


def _gaps_of(last: Line, line: Line, offset: int) -> list[tuple[int, float, float]]:
    gaps = [*last.gaps]
    if line.x0 - last.x1 > max(last.size, line.size):
        gaps.append((len(last.text), last.x1, line.x0))
    return gaps + [(at + offset, left, right) for at, left, right in line.gaps]


def _continues(last: Line, line: Line) -> bool:
    """Whether a line begins where the last ends, if perhaps a little higher or lower."""
    size = max(last.size, line.size)
    if not -0.5 * size < line.x0 - last.x1 < 0.8 * size:
        return False
    return min(last.tail[1], line.head[1]) - max(last.tail[0], line.head[0]) > 0


def _same_row(last: Line, line: Line) -> bool:
    return abs(last.y - line.y) < 0.25 * max(last.size, line.size) and line.x0 >= last.x1 - 1


# Columns ------------------------------------------------------------------------------------------


def _gutter(lines: Sequence[Line]) -> float | None:
    """The middle of the gap between two columns of running text, if the page has two."""
    pieces = [(line.x0, line.x1) for line in lines if not line.gaps]
    for line in lines:
        if line.gaps and len(line.gaps) < 4:
            edges = [line.x0, *(x for _, left, right in line.gaps for x in (left, right)), line.x1]
            pieces += zip(edges[::2], edges[1::2], strict=True)
    if len(pieces) < 12:
        return None
    starts, ends = sorted(x0 for x0, _ in pieces), sorted(x1 for _, x1 in pieces)
    # What is in the margin must not decide where the text begins and ends.
    left, right = starts[len(starts) // 20], ends[-1 - len(ends) // 20]
    best: list[float] = []
    fewest = len(pieces) // 2
    for step in range(_STEPS):
        x = left + (right - left) * (0.3 + 0.4 * step / (_STEPS - 1))
        crossing = bisect_left(starts, x) - bisect_right(ends, x)
        if crossing < fewest:
            fewest, best = crossing, [x]
        elif crossing == fewest and best:
            best.append(x)
    if not best:
        return None
    gutter = best[len(best) // 2]
    first = [x1 - x0 for x0, x1 in pieces if x1 <= gutter]
    second = [x1 - x0 for x0, x1 in pieces if x0 >= gutter]
    # Columns of tables are ragged; those of text are filled.
    if min(len(first), len(second)) < 5:
        return None
    narrow = min(gutter - left, right - gutter)
    filled = all(median(widths) > 0.7 * narrow for widths in (first, second))
    return gutter if filled else None


def _split(line: Line, gutter: float) -> list[Line]:
    """A line across both columns, as two."""
    for at, left, right in line.gaps:
        if left - 2 <= gutter <= right + 2:
            middle = (line.head[0], line.head[1])
            first = replace(line, text=line.text[:at], x1=left, tail=middle, gaps=[], hyphen=False)
            second = replace(line, text=line.text[at + 1 :], x0=right, head=middle, gaps=[])
            return [_marked(first), second]
    return [line]


def _marked(line: Line) -> Line:
    if line.text.endswith("-") and line.text[-2:-1].isalpha():
        return replace(line, text=line.text[:-1], hyphen=True)
    return line


def _side(line: Line, gutter: float) -> str:
    if line.x1 <= gutter + 2:
        return "left"
    return "right" if line.x0 >= gutter - 2 else "both"


def _is_mixed(lines: Sequence[Line], gutter: float) -> bool:
    """Whether the order of drawing alternates between columns, or is upwards in one."""
    wrong = 0
    for last, line in pairwise(lines):
        side, next_side = _side(last, gutter), _side(line, gutter)
        goes_back = side == "right" and next_side == "left" and line.y < last.y - 0.5 * line.size
        wrong += goes_back or (side == next_side and line.y > last.y + 2 * line.size)
    return wrong > 3


def _by_columns(lines: Sequence[Line], gutter: float) -> list[Line]:
    """From top to bottom; between lines across both, the left column before the right."""
    ordered: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in sorted(lines, key=lambda line: (-line.y, line.x0)):
        side = _side(line, gutter)
        if side == "both":
            ordered += [*left, *right, line]
            left, right = [], []
        else:
            (left if side == "left" else right).append(line)
    return [*ordered, *left, *right]


def _is_out_of_order(lines: Sequence[Line]) -> bool:
    """Whether a line was drawn after one far below it, or most after one below them."""
    num_up = 0
    for last, line in pairwise(lines):
        overlap = min(last.x1, line.x1) - max(last.x0, line.x0)
        narrow = min(last.x1 - last.x0, line.x1 - line.x0)
        up = (line.y - last.y) / max(line.size, last.size, 1.0)
        if overlap > 0.5 * narrow and up > 2:
            return True
        num_up += overlap > 0.5 * narrow and up > 0.8
    return num_up * 2 > len(lines)


def _by_rows(lines: Sequence[Line]) -> list[Line]:
    ordered: list[Line] = []
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: -line.y):
        if row and row[0].y - line.y > 0.3 * row[0].size:
            ordered += sorted(row, key=lambda line: line.x0)
            row = []
        row.append(line)
    return ordered + sorted(row, key=lambda line: line.x0)


# Notes --------------------------------------------------------------------------------------------


def _runs(lines: Sequence[Line], gutter: float | None) -> list[list[Line]]:
    """Lines cut where the next is higher, or in another column."""
    runs: list[list[Line]] = []
    for line in lines:
        last = runs[-1][-1] if runs else None
        if last is None or line.y > last.y + 2 * line.size or _changes_column(last, line, gutter):
            runs.append([])
        runs[-1].append(line)
    return runs


def _changes_column(last: Line, line: Line, gutter: float | None) -> bool:
    return gutter is not None and _side(last, gutter) != _side(line, gutter)


def _start_of_notes(run: Sequence[Line], body_size: float) -> int:
    """Where the footnotes begin: in the smaller text at the end of the run, from a mark on."""
    start = len(run)
    while start and run[start - 1].size < 0.94 * body_size:
        start -= 1
    if not start:
        return len(run)  # all of it is small: a list of references, not notes
    for number in range(start, len(run)):
        if _NOTE.match(run[number].text):
            return number
    return len(run)
