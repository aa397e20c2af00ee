"""The rows of a table in JATS, in HTML's or in OASIS's (CALS) elements."""

from __future__ import annotations

from itertools import compress


class TableRows:
    """A table while it is read; `name` is that of its element, which may be nested."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.num_nested = 0
        self.in_cell = False
        self._spans = (1, 1)  # of the cell: columns, rows
        self._rows: list[list[Cell]] = []
        self._num_headers = 0

    def start_row(self) -> None:
        """A row begins."""
        self._rows.append([])

    def end_head(self) -> None:
        """The rows so far are headings."""
        self._num_headers = len(self._rows)

    def start_cell(self, attributes: dict[str, str]) -> None:
        """A cell begins."""
        self.in_cell = True
        columns = attributes.get("colspan", "1")
        rows = attributes.get("rowspan", "1")
        # Most cells span one column and row.
        self._spans = (1, 1) if columns == rows == "1" else (span(columns), span(rows))
        if "morerows" in attributes:
            self._spans = (self._spans[0], span(attributes["morerows"], least=0) + 1)

    def end_cell(self, text: str) -> None:
        """The end of a cell, with its text."""
        self.in_cell = False
        if not self._rows:
            self._rows.append([])
        self._rows[-1].append((text, *self._spans))

    def lines(self) -> list[str]:
        """The table in markdown."""
        return table_lines(self._rows, num_headers=self._num_headers)


# Wider than any table people read; spans may claim anything.
_MAX_COLUMNS = 100
_MAX_SPAN = 200

# Text in one line, and how many columns and rows it covers.
Cell = tuple[str, int, int]


def span(value: str, *, least: int = 1) -> int:
    """The value of a span attribute, the least if it is not a number."""
    value = value.strip()
    if value.isascii() and value.isdecimal() and len(value) < 10:
        return max(least, min(int(value), _MAX_SPAN))
    return least


def table_lines(rows: list[list[Cell]], *, num_headers: int) -> list[str]:
    """Lines of a pipe table. A cell that covers several is written once, the others are empty.

    Empty columns and rows are left out, and so are columns beyond 100.
    """
    grid = _grid(rows)
    num_columns = max(map(len, grid), default=0)
    used = [any(len(row) > at and row[at] for row in grid) for at in range(num_columns)]
    lines: list[str] = []
    headers = 0
    for number, row in enumerate(grid):
        if any(row):
            row += [""] * (num_columns - len(row))
            cells = row if all(used) else list(compress(row, used))
            lines.append(f"| {' | '.join(cells)} |")
            headers += number < num_headers
    if headers and len(lines) > headers:
        lines.insert(headers, "|" + " --- |" * sum(used))
    return lines


def _grid(rows: list[list[Cell]]) -> list[list[str]]:
    grid: list[list[str]] = []
    covered: dict[int, int] = {}  # column to how many more rows a cell above covers it
    for row in rows:
        line: list[str] = []
        next_covered: dict[int, int] = {}
        for text, num_columns, num_rows in row:
            if covered:
                _fill(line, covered, next_covered)
            if len(line) >= _MAX_COLUMNS:
                break
            if num_rows > 1:
                for at in range(len(line), min(len(line) + num_columns, _MAX_COLUMNS)):
                    next_covered[at] = num_rows - 1
            line.append(text.replace("|", "\\|") if "|" in text else text)
            if num_columns > 1:
                line += [""] * (min(len(line) + num_columns - 1, _MAX_COLUMNS) - len(line))
        if covered:
            _fill(line, covered, next_covered)
        covered = next_covered
        grid.append(line)
    return grid


def _fill(line: list[str], covered: dict[int, int], next_covered: dict[int, int]) -> None:
    """Skip the columns that cells of earlier rows cover."""
    while left := covered.get(len(line), 0):
        if left > 1:
            next_covered[len(line)] = left - 1
        line.append("")
