"""Tables while they are read."""

from __future__ import annotations

from barrow.corpus.text.jats.tables import TableRows


def test_html_and_cals() -> None:
    table = TableRows("table")
    for head, cells in ((True, ("a", "b")), (False, ("c",)), (False, ("d", "e"))):
        table.start_row()
        for text in cells:
            table.start_cell({"morerows": "1"} if text == "a" else {"colspan": "1"})
            assert table.in_cell
            table.end_cell(text)
            assert not table.in_cell
        if head:
            table.end_head()
    assert table.lines() == ["| a | b |", "| --- | --- |", "|  | c |", "| d | e |"]


def test_a_cell_without_a_row() -> None:
    table = TableRows("table")
    table.start_cell({"rowspan": "2", "colspan": "x"})
    table.end_cell("a")
    assert table.lines() == ["| a |"]
