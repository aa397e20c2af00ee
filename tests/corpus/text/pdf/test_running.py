"""Running heads, feet and numbers of pages (PILE-6)."""

from __future__ import annotations

import pytest

from barrow.corpus.text.pdf.lines import Line, Page
from barrow.corpus.text.pdf.running import without_running_lines


def line(text: str, y: float, *, x: float = 72, size: float = 10) -> Line:
    return Line(text, x, x + len(text) * size * 0.5, y, size)


def body(number: int) -> list[Line]:
    words = ["stone", "mound", "earth", "field", "river", "spade", "bone", "urn", "ash", "oak"]
    return [
        line(
            f"{words[(number + n) % 10]} {words[(number * 3 + n) % 10]} text {n} of it",
            700 - 12 * n,
        )
        for n in range(20)
    ]


def left(pages: list[list[Line]]) -> list[list[str]]:
    made = [Page(612, 792, lines) for lines in pages]
    return [[line.text for line in page.lines] for page in without_running_lines(made)]


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def test_heads_and_feet_that_repeat() -> None:
    pages = [
        [line(f"The Barrow Review {n + 100}", 750), *body(n), line(f"Page {n} of 9", 40)]
        for n in range(1, 9)
    ]
    assert left(pages) == [texts(body(n)) for n in range(1, 9)]


def test_left_and_right_pages_have_heads_of_their_own() -> None:
    heads = ["A. Digger", "On the Raising of Barrows"]
    pages = [[line(heads[n % 2], 750), *body(n), line(str(n), 30)] for n in range(6)]
    assert left(pages) == [texts(body(n)) for n in range(6)]


def test_a_head_that_changes_a_little() -> None:
    sections = ["Stones", "Stones", "Earths", "Ashes"]
    pages = [
        [line(f"Chapter 4. On the Matter of {s}", 750), *body(n)] for n, s in enumerate(sections)
    ]
    assert left(pages) == [texts(body(n)) for n in range(4)]


@pytest.mark.parametrize("number", ["7", "- 7 -", "– 7 –", "Page 7", "vii", "[7]", "7 / 12", "7."])
def test_a_lone_number_at_the_edge(number: str) -> None:
    assert left([[*body(1), line(number, 40, x=300)]]) == [texts(body(1))]
    assert left([[line(number, 760), *body(1)]]) == [texts(body(1))]


def test_what_stays() -> None:
    """Titles, first lines of pages that differ, repeats in the middle, rows of figures."""
    pages = [[line("A Title", 750), *body(1)], [*body(2), line("It ends with 7 words here.", 100)]]
    assert left(pages) == [texts(page) for page in pages]
    middle = [
        [
            *body(n),
            line("and so on", 300),
            *[line(f"{'xyz'[n - 1]}{'abcde'[k]}", 290 - 9 * k) for k in range(5)],
        ]
        for n in range(1, 4)
    ]
    assert all("and so on" in page for page in left(middle))
    tables = [
        [line(f"{n}.0 {n}.5 3.{n}", 700), line(f"1.{n} 2 {n}", 688), *body(n)[2:]] for n in (1, 2)
    ]
    assert left(tables) == [texts(page) for page in tables]


def test_the_same_words_at_another_height_are_text() -> None:
    pages = [[line("The same words again", 700 - 40 * n), *body(n)[10:]] for n in range(4)]
    assert left(pages) == [texts(page) for page in pages]


def test_numbers_of_lines_in_the_margin() -> None:
    numbers = [line(str(n + 1), 700 - 12 * n, x=40) for n in range(20)]
    assert left([[*body(1), *numbers]]) == [texts(body(1))]
    inside = [line(str(n + 1), 700 - 12 * n, x=150) for n in range(20)]
    assert left([[*body(1), *inside]]) == [texts(body(1) + inside)]


def test_nothing() -> None:
    assert left([]) == []
    assert left([[], []]) == [[], []]
