"""PILE-1: paragraphs, headings and lists of wikitext."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.wikitext.lines import lay_out
from barrow.corpus.text.wikitext.marks import BREAK


def test_lines_of_a_paragraph_are_joined() -> None:
    assert lay_out("") == lay_out("\n\n \n\t\n") == ""
    assert lay_out("a\nb\n\n\n\nc \n \nd") == "a b\n\nc\n\nd"
    assert lay_out("a  b\xa0\xa0c\td\u2009e") == "a b c d e"
    assert lay_out("水\u3000é\nß") == "水\u3000é ß", "an ideographic space is a letter's width"
    assert lay_out("a\x00b\ufeff\x9fc") == "abc"


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("= A =", "A"),
        ("== A ==", "A"),
        ("==A==  ", "A"),
        ("====== A ======", "A"),
        ("======== A ========", "A"),
        ("== A = B ==", "A = B"),
        ("== Ä\xa0水 ==", "Ä 水"),
        ("==  A   B\ufeff\x07 ==", "A B"),
    ],
)
def test_headings(line: str, heading: str) -> None:
    assert lay_out(f"a\n{line}\nb") == f"a\n\n{heading}\n\nb"


@pytest.mark.parametrize("line", ["= A", "== A == b", "=", "==", "A ==", "x == A =="])
def test_what_is_no_heading_is_text(line: str) -> None:
    assert lay_out(f"a\n{line}\nb") == f"a {line} b"


def test_a_heading_with_nothing_under_it_goes() -> None:
    assert lay_out("== A ==\n== B ==\nb\n== C ==\n") == "B\n\nb"
    assert lay_out("== A ==\n=== B ===\nb") == "A\n\nB\n\nb", "a subsection is something"
    assert lay_out("=== A ===\n== B ==\nb") == "B\n\nb"
    deepest = "===== A =====\n====== B ======\n======= C =======\nc"
    assert lay_out(deepest) == "A\n\nC\n\nc", "six levels, and no more"
    assert lay_out(f"== A ==\n{BREAK}\n== B ==\n {BREAK} {BREAK}\n== C ==\nc") == "C\n\nc"
    assert lay_out("== ==\na") == "a"


def test_dropped_sections_go_with_their_subsections() -> None:
    dropped = {"see also", "notes"}
    text = "a\n== See also ==\nb\n=== C ===\nc\n==== D ====\nd\n== E ==\ne"
    assert lay_out(text, dropped_sections=dropped) == "a\n\nE\n\ne"
    assert lay_out(text).startswith("a\n\nSee also\n\nb\n\nC")
    inner = "== A ==\n=== Notes: ===\nb\n=== C ===\nc\n= D =\n== NOTES ==\ne"
    assert lay_out(inner, dropped_sections=dropped) == "A\n\nC\n\nc"
    assert lay_out("== See\xa0 also ==\nb", dropped_sections=dropped) == ""
    assert lay_out("== Not see also ==\nb", dropped_sections=dropped) == "Not see also\n\nb"


def test_bullets_and_indentation() -> None:
    assert lay_out("*a\n**  b\n*** c\n*d") == "- a\n  - b\n    - c\n- d"
    assert lay_out(": a\n:: b\n:* c") == "a\nb\n- c"
    assert lay_out("* a\n*: b\n*:* c") == "- a\n  b\n  - c"
    assert lay_out("; a : b\n; c\n: d : e") == "a: b\nc\nd : e"
    assert lay_out("a\n* b\nc\n\n* d\n\n* e") == "a\n\n- b\n\nc\n\n- d\n\n- e"
    assert lay_out(f"* \n*\n* {BREAK} {BREAK}\n* a") == "- a", "empty items go"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("# a\n# b\n## c\n## d\n# e\n## f", "1. a\n2. b\n  1. c\n  2. d\n3. e\n  1. f"),
        ("# a\n#* b\n#: c\n# d", "1. a\n  - b\n  c\n2. d"),
        # A list ends where another kind begins.
        ("# a\n* b\n# c", "1. a\n- b\n1. c"),
        ("# a\n: b\n# c", "1. a\nb\n1. c"),
        ("# a\n:# b\n:# c", "1. a\n1. b\n2. c"),
        ("# a\n*# b\n*# c\n# d", "1. a\n  1. b\n  2. c\n1. d"),
        ("## a\n*# b", "  1. a\n  1. b"),
        ("# a\n b\n# c", "1. a\nb\n1. c"),
        ("; a\n:# b\n;# c", "a\n1. b\n2. c"),
        # An item without words of its own has a number if others are in it, else none.
        ("## a\n# b", "  1. a\n2. b"),
        ("# a\n# \n# b", "1. a\n2. b"),
    ],
)
def test_numbers(source: str, shown: str) -> None:
    assert lay_out(source) == shown


def numbered(items: list[str]) -> list[int]:
    """The numbers of items in HTML, of lists opened and closed as MediaWiki does it."""
    opened: list[tuple[str, int]] = []
    numbers = []
    for marks in items:
        same = 0
        while same < min(len(opened), len(marks)) and opened[same][0] == marks[same]:
            same += 1
        while len(opened) > same:
            opened.pop()
        if same == len(marks):
            mark, number = opened.pop()
            opened.append((mark, number + 1))
        opened.extend((mark, 1) for mark in marks[same:])
        numbers.append(opened[-1][1])
    return numbers


@settings(max_examples=100)
@given(st.lists(st.text("#*:", min_size=1, max_size=4), min_size=1, max_size=12))
def test_numbers_are_those_of_nested_lists(items: list[str]) -> None:
    lines = lay_out("\n".join(f"{marks} x" for marks in items)).split("\n")
    for line, marks, number in zip(lines, items, numbered(items), strict=True):
        depth = marks.count("#") + marks.count("*")
        bullet = {"#": f"{number}. ", "*": "- "}.get(marks[-1], "")
        assert line == "  " * (depth - bool(bullet)) + f"{bullet}x"


def test_lines_that_begin_with_a_blank_stay_as_they_are() -> None:
    assert lay_out(" a  b\n   c\xa0d  \ne") == "a  b\n  c d\n\ne"
    assert lay_out("a\n b\n\x00") == "a\n\nb"
    assert lay_out(" * a\n == b ==") == "* a\n== b =="


def test_rules_and_stray_rows() -> None:
    assert lay_out("a\n----\nb\n------ c\nd") == "a\n\nb\n\nc d"
    assert lay_out("--- a") == "--- a"
    assert lay_out("a\n| x\n|}\n! b !! c\n! d | e\nf") == "a f"
    assert lay_out("! a") == "! a"


@pytest.mark.parametrize(
    "piece",
    ["=", "= ", "== a ==\n", "*", "#", "#*:", "# a\n", "## a\n# b\n", " ", " a\n", "-", "a\n"],
)
def test_time_is_linear(piece: str) -> None:
    """In linear time."""
    check_linear(lambda n: lay_out(piece * n), 2_000)


def test_lists_are_only_so_deep() -> None:
    assert lay_out("*" * 50 + "a") == "  " * 11 + "- a"
