"""The rows of a table in JATS, in HTML's or in OASIS's (CALS) elements."""

from __future__ import annotations

from barrow.corpus.table_text import Cell, span, table_lines


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
        # Most say that they span nothing.
        self._spans = (1, 1) if columns == rows == "1" else (span(columns), span(rows))
        if "morerows" in attributes:
            self._spans = (self._spans[0], span(attributes["morerows"], least=0) + 1)

    def end_cell(self, text: str) -> None:
        """The end of a cell, with what was in it."""
        self.in_cell = False
        if not self._rows:
            self._rows.append([])
        self._rows[-1].append((text, *self._spans))

    def lines(self) -> list[str]:
        """The table in markdown."""
        return table_lines(self._rows, num_headers=self._num_headers)
