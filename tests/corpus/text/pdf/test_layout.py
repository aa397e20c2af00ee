"""The order in which a page is read (PILE-6)."""

from __future__ import annotations

import random

from barrow.corpus.text.pdf.layout import columns_of
from barrow.corpus.text.pdf.lines import Line, Page


def line(text: str, x: float, y: float, *, width: float | None = None, size: float = 10) -> Line:
    x1 = x + (len(text) * size * 0.5 if width is None else width)
    edge = (y - 0.2 * size, y + 0.8 * size)
    return Line(text, x, x1, y, size, head=edge, tail=edge)


def read(lines: list[Line], *, body_size: float = 10) -> list[list[str]]:
    columns = columns_of(Page(612, 792, lines), body_size=body_size)
    return [[each.text for each in [*column.lines, *column.notes]] for column in columns]


def flat(lines: list[Line]) -> list[str]:
    return [text for column in read(lines) for text in column]


LEFT = [line(f"left {n}", 72, 700 - 12 * n, width=220) for n in range(20)]
RIGHT = [line(f"right {n}", 320, 700 - 12 * n, width=220) for n in range(20)]
TITLE = [line("A title that goes over both columns", 100, 740, width=400, size=16)]


def test_columns_as_drawn() -> None:
    columns = read([*TITLE, *LEFT, *RIGHT])
    assert columns == [[each.text for each in part] for part in (TITLE, LEFT, RIGHT)]


def test_columns_drawn_in_rows() -> None:
    rows = [each for pair in zip(LEFT, RIGHT, strict=True) for each in pair]
    assert flat([*TITLE, *rows]) == [each.text for each in [*TITLE, *LEFT, *RIGHT]]


def test_columns_drawn_as_single_lines() -> None:
    """Where one line goes through both columns, and a blank of 28 points is all there is."""
    lines = []
    for a, b in zip(LEFT, RIGHT, strict=True):
        both = line(f"{a.text} {b.text}", 72, a.y, width=468)
        both.gaps = [(len(a.text), 292, 320)]
        lines.append(both)
    assert flat([*TITLE, *lines]) == [each.text for each in [*TITLE, *LEFT, *RIGHT]]


def test_a_word_divided_at_the_end_of_the_left_column() -> None:
    lines = []
    for a, b in zip(LEFT, RIGHT, strict=True):
        both = line(f"{a.text} mul- {b.text}", 72, a.y, width=468)
        both.gaps = [(len(a.text) + 5, 292, 320)]
        lines.append(both)
    first = columns_of(Page(612, 792, lines), body_size=10)[0].lines[0]
    assert (first.text, first.hyphen) == ("left 0 mul", True)


def test_columns_drawn_in_any_order() -> None:
    lines = [*LEFT, *RIGHT]
    random.Random(1).shuffle(lines)
    assert flat([*TITLE, *lines]) == [each.text for each in [*TITLE, *LEFT, *RIGHT]]


def test_text_across_columns_divides_them() -> None:
    across = [line("across", 72, 580, width=468)]
    top, bottom = slice(0, 9), slice(11, 20)
    lines = [*LEFT[top], *RIGHT[top], *across, *LEFT[bottom], *RIGHT[bottom]]
    wanted = [each.text for each in lines]
    random.Random(2).shuffle(lines)
    assert flat(lines) == wanted


def test_a_table_is_read_in_rows() -> None:
    rows = []
    for n in range(20):
        rows.append(line(f"k{n}", 72, 700 - 12 * n))
        rows.append(line("what it means, in some words", 320, 700 - 12 * n))
    assert flat(rows) == [f"k{n} what it means, in some words" for n in range(20)]


def test_one_column_drawn_out_of_order() -> None:
    lines = [line(f"line {n}", 72, 700 - 12 * n, width=400) for n in range(20)]
    assert flat([*lines[5:], *lines[:5]]) == [each.text for each in lines]
    assert flat(lines[::-1]) == [each.text for each in lines]


def test_raised_numbers_are_in_their_line() -> None:
    lines = [
        line("the same period", 72, 700),
        line("1", 147.5, 704, size=6),
        line(". Then", 151, 700),
    ]
    assert flat(lines) == ["the same period1. Then"]
    assert flat([line("one", 72, 700), line("two", 91, 700)]) == ["one two"]


def test_notes() -> None:
    text = [line(f"text {n}", 72, 700 - 12 * n, width=400) for n in range(10)]
    small = [line("a caption", 72, 572, size=8)]
    notes = [line("1 See there.", 72, 560, size=8), line("and elsewhere", 72, 550, size=8)]
    (column,) = columns_of(Page(612, 792, [*text, *small, *notes]), body_size=10)
    assert column.lines == text + small
    assert column.notes == notes
    (column,) = columns_of(Page(612, 792, notes), body_size=10)
    assert column.notes == []  # a page of references


def test_nothing() -> None:
    assert read([]) == []
