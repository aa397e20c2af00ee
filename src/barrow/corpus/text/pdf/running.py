"""Running headers, footers and page numbers: lines repeated at the edges of pages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from barrow.corpus.text.pdf.lines import Line, Page

_EDGE = 3  # lines from the top and from the bottom that are looked at
_NEAR = 4  # pages before and after that a line is compared with: left and right ones may differ
_SAME_HEIGHT = 3.0  # points
_SAME_ROW = 2.0
_NUMBER = re.compile(
    r"(?:[-–—|\[(. ]{0,3})(?:page|seite|p\.)? ?(?:\d{1,4}|[ivxlc]{1,7})(?: ?(?:/|of|von) ?\d{1,4})?"
    r"[-–—|\]). ]{0,3}",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)


Row = list[Line]  # lines at the same height


def without_running_lines(pages: Sequence[Page]) -> list[Page]:
    """The pages without running headers, footers and page numbers.

    Removed are lines among the outermost rows of a page that, but for numbers, are at the same
    height of a page nearby; or that are similar to a line there, with space between them and the
    text; or that are only a page number, outermost.
    """
    edges = [(_edge(page, top=True), _edge(page, top=False)) for page in pages]
    kept = []
    for number, page in enumerate(pages):
        gone = _line_numbers(page.lines)
        for side in (0, 1):
            near = [
                line
                for other in range(max(0, number - _NEAR), min(len(pages), number + _NEAR + 1))
                if other != number
                for row in edges[other][side][:_EDGE]
                for line in row
            ]
            gone |= _running(edges[number][side], near)
        lines = [line for line in page.lines if id(line) not in gone]
        kept.append(Page(page.width, page.height, lines))
    return kept


def _edge(page: Page, *, top: bool) -> list[Row]:
    """The outermost rows and the one after them, outermost first."""
    rows: list[Row] = []
    for line in sorted(page.lines, key=lambda line: -line.y if top else line.y):
        if rows and abs(line.y - rows[-1][0].y) <= _SAME_ROW:
            rows[-1].append(line)
        elif len(rows) > _EDGE:
            break
        else:
            rows.append([line])
    return rows


def _running(edge: list[Row], near: list[Line]) -> set[int]:
    """The running lines of an edge, from outside up to the first other line."""
    gone: set[int] = set()
    for number, row in enumerate(edge[:_EDGE]):
        is_apart = number + 1 == len(edge) or (
            abs(row[0].y - edge[number + 1][0].y) > 1.5 * max(line.size for line in row)
        )
        running = [line for line in row if any(_alike(line, other, is_apart) for other in near)]
        rest = [line for line in row if line not in running]
        if len(rest) == 1 and number == 0 and _NUMBER.fullmatch(rest[0].text):
            running.append(rest.pop())
        gone |= {id(line) for line in running}
        if rest:
            break
    return gone


def _line_numbers(lines: Sequence[Line]) -> set[int]:
    """Line numbers in the margin: five or more, one below the other, beside the text."""
    numbers = [line for line in lines if len(line.text) < 5 and line.text.isdigit()]
    if len(numbers) < 5:
        return set()
    texts = sorted((line.x0, line.x1) for line in lines if len(line.text) >= 20)
    if len(texts) < 5:
        return set()
    left, right = texts[len(texts) // 10][0], sorted(x1 for _, x1 in texts)[-1 - len(texts) // 10]
    outside = [line for line in numbers if line.x1 < left or line.x0 > right]
    return {id(line) for line in outside} if len(outside) >= 5 else set()


def _alike(line: Line, other: Line, is_apart: bool) -> bool:
    """Whether two lines are equal but for numbers; or, if `is_apart`, almost equal."""
    if abs(line.y - other.y) > _SAME_HEIGHT or abs(line.size - other.size) > 1:
        return False
    one, two = _DIGITS.sub("#", line.text).split(), _DIGITS.sub("#", other.text).split()
    if one == two:
        # Rows of figures, as in tables, differ only in numbers.
        return any(word.strip("#.,()%-–") for word in one)
    common = len(set(one) & set(two))
    return is_apart and common >= 3 and common * 10 >= 7 * max(len(set(one)), len(set(two)))
