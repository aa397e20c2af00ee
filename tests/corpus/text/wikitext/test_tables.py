"""PILE-1: tables of wikitext and HTML."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from barrow.corpus.text.wikitext.marks import GONE
from barrow.corpus.text.wikitext.tables import without_tables


def left(source: str) -> list[str]:
    """Lines that are left when tables go, without the mark for what is gone."""
    text = without_tables(source, as_rows=False)
    assert (GONE in text) == (text.lstrip("\n") != source.lstrip("\n"))
    return [line for line in text.replace(GONE, "").split("\n") if line]


def rows(source: str) -> list[str]:
    """Lines when tables stay as rows."""
    return [line for line in without_tables(source, as_rows=True).split("\n") if line]


def test_text_without_tables_stays() -> None:
    for text in ("", "a", "a { b | c", "a {| b", "<tablet>", "|}", "</table>", "| a\n|-"):
        for as_rows in (False, True):
            assert without_tables(text, as_rows=as_rows).lstrip("\n") == text


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a\n{|\n| b\n|}\nc", ["a", "c"]),
        ("{| class=x\n| b\n|} c", [" c"]),
        ("a\n:: {|\n| b\n|}\nc", ["a", "c"]),
        ("a\n{|\n| b\n {|\n| c\n |}\n| d\n|}\ne", ["a", "e"]),
        ("a\n{|\n| b\n{|\n| c\n|}\nd", ["a"]),
        ("a\n{|\n| b\n== H ==\nc", ["a", "== H ==", "c"]),
        ("a\n{|\n{|\n| b\n== H ==\nc\n|}\nd", ["a", "== H ==", "c", "|}", "d"]),
        ("a\n{|\n| b\n|}\n{|\n| c\n|}\nd", ["a", "d"]),
        ("a<table class=x><tr><td>b<table><tr><td>c</table>d</table>e", ["a", "e"]),
        ("a<TABLE BORDER=1><TR><TD>b</TABLE>c", ["a", "c"]),
        ("a<Table><tr><td>b</table>c", ["a", "c"]),
        ("a\n{|\n|<table><td>b</table>\n|}\nc", ["a", "c"]),
        ("a<table>b", ["a"]),
        ("Ä\n{|\n| 水\n|}\nß", ["Ä", "ß"]),
    ],
)
def test_tables_go(source: str, lines: list[str]) -> None:
    assert left(source) == lines


TABLES = {
    "| a\n| b\n|-\n| c\n| d": ["a | b", "c | d"],
    "|a||b\n|-\n|c || d||": ["a | b", "c | d"],
    "! A !! B || C\n|-\n| a !! b": ["A | B | C", "a !! b"],
    "|+ Title\n|-\n| a": ["Title", "a"],
    '|+ style="x" | Title\n| a': ["Title", "a"],
    "|- class=x\n| a": ["a"],
    "|-----\n| a": ["a"],
    "| colspan=2 | a || style='x: y' | b": ["a | b"],
    '! scope="col" data-x="1" | a': ["a"],
    "| nowrap | a\n| | b": ["a | b"],
    "| [[x|y]] | z": ["[[x|y]] | z"],
    "| a\nb\n\nc\n| d": ["a b c | d"],
    "|\n* a\n* b\n| c": ["a b | c"],
    "| * a\n| :b\n| #;c": ["a | b | c"],
    f"| {GONE}\n| a {GONE}": ["a"],
    "| || \n|-\n| a": ["a"],
    "stray\n| a": ["a"],
    "| 水\xa0é || ß": ["水\xa0é | ß"],
    "| a\n{|\n| b\n|}\n| c": ["a", "b", "c"],
    "": [],
}


@pytest.mark.parametrize("source", TABLES)
def test_rows(source: str) -> None:
    expected = [f":{row}" for row in TABLES[source]]
    assert rows(f"x\n{{| class=t\n{source}\n|}}\ny") == ["x", *expected, "y"]
    if "{|" not in source:
        assert rows(f"x\n{{|\n{source}\n== H ==\ny") == ["x", *expected, "== H ==", "y"]
        assert rows(f"x\n{{|\n{source}") == ["x", *expected], "never closed"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<tr><th>a</th><th>b</th></tr><tr><td>c</td><td>d</td></tr>", ["a | b", "c | d"]),
        ("<TR><TH>a<TH>b<TR><TD>c<TD ALIGN=left>d", ["a | b", "c | d"]),
        ("<caption>T</caption><tr><td>a</td></tr>", ["T", "a"]),
        ("<caption align=top><b>T</b></caption><tr><td>a", ["<b>T</b>", "a"]),
        ("\n<tr>\n<td>\na\nb\n</td>\n</tr>\n", ["a b"]),
    ],
)
def test_rows_of_html(source: str, expected: list[str]) -> None:
    shown = rows(f"x<table border=1>{source}</table>y")
    assert shown == ["x", *(f":{row}" for row in expected), "y"]


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "{|\n",
            "|}\n",
            "{|\n|}\n",
            "|-\n",
            "| a\n",
            "a\n",
            "* a\n",
            "|a|",
            "! a !",
            "<table>",
            "<td>",
        ),
        *("<table", "</table>", "\n", " \n", "== a\n{|\n", "<caption>", ":", "=", "a=", "[["),
    ],
)
@pytest.mark.parametrize("before", ["", "{|\n| a\n"])
def test_time_is_linear(before: str, piece: str) -> None:
    """In linear time."""
    source = before + piece * 40
    for as_rows in (False, True):
        assert len(without_tables(source, as_rows=as_rows)) <= 3 * len(source) + 10

        def act(n: int, as_rows: bool = as_rows) -> str:
            return without_tables(before + piece * n, as_rows=as_rows)

        check_linear(act, 1_500)


def test_a_cell_of_very_many_lines() -> None:
    """Linear time: they are not added to the cell one by one, which copies it each time."""

    def act(number: int) -> None:
        (row,) = rows("{|\n| a\n" + "b\n" * number)
        assert len(row) == len(":a") + number * len(" b")

    check_linear(act, 200_000)
