"""Lines to paragraphs, words whole (PILE-6)."""

from __future__ import annotations

import textwrap

from barrow.corpus.text.pdf.layout import Column
from barrow.corpus.text.pdf.lines import Line
from barrow.corpus.text.pdf.paragraphs import leadings, text_of

WIDTH = 60
PROSE = (
    "Whether the barrow was raised over one man or over many is a question that the spade alone "
    "will not answer, for the earth keeps the order of its layers but not the reasons of those who "
    "laid them down there."
)


def line(text: str, x: float, y: float, *, size: float = 10, hyphen: bool = False) -> Line:
    return Line(text, x, x + len(text) * 5, y, size, hyphen=hyphen)


def lay(
    *paragraphs: str, top: float = 700, indent: float = 0, hang: float = 0, space: float = 0
) -> list[Line]:
    """Paragraphs as a program breaks them: as many words to a line as it holds."""
    lines, y = [], top
    for paragraph in paragraphs:
        wrapped = textwrap.wrap(
            paragraph,
            WIDTH,
            initial_indent=" " * round(indent / 5),
            subsequent_indent=" " * round(hang / 5),
            break_on_hyphens=False,
        )
        for n, text in enumerate(wrapped):
            lines.append(line(text.lstrip(), 72 + (hang if n else indent), y))
            y -= 12
        y -= space
    return lines


def text(*columns: list[Line], notes: list[Line] | None = None) -> str:
    made = [[Column(lines, [])] for lines in columns]
    if notes:
        made[0][0].notes = notes
    return text_of(made, body_size=10)


def test_indented_paragraphs() -> None:
    assert text(lay(PROSE, PROSE, PROSE, indent=15)) == "\n\n".join([PROSE] * 3)


def test_paragraphs_with_space_between() -> None:
    assert text(lay(PROSE, PROSE, space=6)) == f"{PROSE}\n\n{PROSE}"


def test_hanging_paragraphs() -> None:
    assert text(lay(PROSE, PROSE, "Short one.", hang=15)) == f"{PROSE}\n\n{PROSE}\n\nShort one."


def test_double_spaced() -> None:
    lines = lay(PROSE, PROSE, indent=15)
    for each in lines:
        each.y = 2 * each.y - 700
    assert leadings([Column(lines, [])]) == {20: 24.0}
    assert text(lines) == f"{PROSE}\n\n{PROSE}"


def test_headings_and_verse_stay_on_their_lines() -> None:
    heading = [line("1 Introduction", 72, 730, size=14)]
    verse = [line(v, 90, 600 - 12 * n) for n, v in enumerate(["O stone,", "O earth,", "O bone."])]
    found = text([*heading, *lay(PROSE), *verse])
    assert found == f"1 Introduction\n\n{PROSE}\n\nO stone,\nO earth,\nO bone."
    tight = [line("1 Introduction", 72, 714, size=12), *lay(PROSE)]
    tight[0].x1 = 372
    assert text(tight) == f"1 Introduction\n\n{PROSE}"
    same_size = [line("2 Methods", 72, 712), *lay(PROSE)]
    assert text(same_size) == f"2 Methods\n{PROSE}"


def test_lists_tables_and_contents() -> None:
    items = [line("• one thing", 72, 700), line("• and another that is longer", 72, 688)]
    assert text(items) == "• one thing\n• and another that is longer"
    rows = [line(f"row {n} 5", 72, 700 - 12 * n) for n in range(3)]
    for row in rows:
        row.gaps = [(5, 100, 140)]
        row.x1 = 300
    assert text(rows) == "row 0 5\nrow 1 5\nrow 2 5"
    contents = [
        line(f"{n} Part . . . . . . . . . . . . . . . {n}", 72, 700 - 12 * n) for n in (1, 2)
    ]
    assert text(contents).count("\n") == 1


def test_centred_lines() -> None:
    lines = [
        Line("A. Digger", 277, 322, 700, 10),
        Line("University of Somewhere", 245, 354, 688, 10),
        Line("digger@example.org", 255, 344, 676, 10),
    ]
    assert text(lines) == "A. Digger\nUniversity of Somewhere\ndigger@example.org"
    title = [Line("On the Raising", 230, 370, 700, 18), Line("of Barrows", 250, 350, 680, 18)]
    assert text(title) == "On the Raising of Barrows"


def test_words_are_made_whole() -> None:
    lines = [
        line("The multi-layered mound and its deep-", 72, 700),
        line("lying stones were well known to Anglo", 72, 688, hyphen=True),
        line("Saxon and to neigh", 72, 676, hyphen=True),
        line("bouring people, a deep-lying multi", 72, 664, hyphen=True),
        line("layered thing — from 1990–", 72, 652),
        line("95 or a dash—", 72, 640),
        line("as here.", 72, 628),
    ]
    for each in lines[:-1]:
        each.x1 = 300
    assert text(lines) == (
        "The multi-layered mound and its deep-lying stones were well known to Anglo-Saxon and to "
        "neighbouring people, a deep-lying multi-layered thing — from 1990–95 or a dash—as here."
    )


def test_addresses_are_made_whole() -> None:
    lines = [line("See http://example.org/papers/", 72, 700), line("barrows.html for it.", 72, 688)]
    lines[0].x1 = lines[1].x1 = 300
    assert text(lines) == "See http://example.org/papers/barrows.html for it."


def test_paragraphs_go_on_over_pages_and_notes_follow() -> None:
    lines = lay(PROSE, PROSE, indent=15)
    notes = [line("1 See there.", 72, 100, size=8)]
    first, second = lines[:6], lines[6:]
    for each in second:
        each.y += 70
    assert text(first, second, notes=notes) == f"{PROSE}\n\n{PROSE}\n\n1 See there."
    whole = lay(PROSE)
    assert text(whole, lay(PROSE), notes=notes) == f"{PROSE}\n\n1 See there.\n\n{PROSE}"
    divided = [line("It was a mul", 72, 700, hyphen=True)]
    assert text(divided, [line("titude.", 72, 700)], notes=notes) == (
        "It was a multitude.\n\n1 See there."
    )
    heading = [line("References", 72, 700)]
    assert text(heading, lay(PROSE)) == f"References\n\n{PROSE}"


def test_nothing() -> None:
    assert text([]) == ""
