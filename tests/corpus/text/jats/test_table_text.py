"""Tables in markdown."""

from __future__ import annotations

from barrow.corpus.text.jats.tables import span, table_lines


def test_spans_and_headers() -> None:
    rows = [
        [("a", 1, 2), ("b", 2, 1)],
        [("c", 1, 1), ("d|e", 1, 1)],
        [("", 1, 1), ("", 1, 1)],
        [("f", 1, 1), ("", 1, 1), ("g", 1, 1), ("", 1, 1)],
    ]
    assert table_lines(rows, num_headers=2) == [
        *("| a | b |  |", "|  | c | d\\|e |", "| --- | --- | --- |", "| f |  | g |"),
    ]
    assert table_lines([[("a", 1, 1)]], num_headers=1) == ["| a |"]
    assert table_lines([], num_headers=0) == table_lines([[]], num_headers=0) == []


def test_a_column_that_is_covered_for_several_rows() -> None:
    rows = [[("a", 1, 3), ("b", 1, 1)], [("c", 1, 1)], [("d", 1, 1)], [("e", 1, 1), ("f", 1, 1)]]
    assert table_lines(rows, num_headers=0) == ["| a | b |", "|  | c |", "|  | d |", "| e | f |"]


def test_absurd_spans() -> None:
    assert [span(text) for text in ("3", " 2 ", "0", "-1", "x", "", "9" * 50, "²")] == [
        *(3, 2, 1, 1, 1, 1, 1, 1),
    ]
    assert span("999999") == 200
    wide = [[(str(number), 200, 200) for number in range(300)] for _ in range(300)]
    assert len("".join(table_lines(wide, num_headers=0))) < 100_000
