from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.pdf.typed_pages import unpaged

SINGLE = """\
                  IN THE SUPREME COURT

     The mound was opened in the year of the great frost, and what was found
there was divided among the finders. The plaintiff says that the well-
known rule applies, and that his share is a third of the trea-
sure. The lease reads:

          Whoever opens a mound shall give one third of what he finds
          in it to the owner of the land, without delay and without
          deduction.

     We hold that the rule is good law, well-known as it is.
     So ordered.
"""


def test_paragraphs_of_lines() -> None:
    """PILE-9."""
    parted = "divided among the finders. The plaintiff says that the well-known rule applies,"
    third = "and that his share is a third of the treasure. The lease reads:"
    lease = "    Whoever opens a mound shall give one third of what he finds in it to the owner of"
    opened = "The mound was opened in the year of the great frost, and what was found there was"
    assert unpaged(SINGLE).split("\n\n") == [
        "IN THE SUPREME COURT",
        f"{opened} {parted} {third}",
        f"{lease} the land, without delay and without deduction.",
        "We hold that the rule is good law, well-known as it is.",
        "So ordered.",
    ]


def test_double_spacing_and_pages() -> None:
    lines = [
        "       {¶ 60} The first amendment said that landlord and tenant desire to amend",
        "the lease, to alter certain provisions thereof, and so on, on the terms and the",
        "conditions hereinafter set forth in the paragraph which follows this one here.",
        "       {¶ 61} The tenant asserts that the faithful and punctual performance was",
        "complementary to the amended option, and that it was for that reason a part",
    ]
    more = [
        "of the ratified terms from the lease. However, the condition was not met.",
        "So it is.",
    ]
    text = "\n\n".join(lines) + "\n\f" + " " * 60 + "-21-\n\n\n" + "\n\n".join(more) + "\n\f"
    assert unpaged(text).split("\n\n") == [
        " ".join(line.strip() for line in lines[:3]),
        " ".join(line.strip() for line in [*lines[3:], *more]),
    ]


def test_heads_and_feet_of_pages() -> None:
    names = ["hill", "stone", "meadow", "river", "mound"]
    body = [
        f"The {name} goes on and on, until it comes to the end of all of it,\nand {name} further"
        for name in names
    ]
    pages = [
        f"Case: 12-345  Document: {n}\n\n{text}\n\n   Page {n} of 5" for n, text in enumerate(body)
    ]
    text = unpaged("\f".join(pages))
    assert "Case:" not in text
    assert "Page" not in text
    assert text.count(" further") == 5
    alone = "Case: 12-345  Document: 3\n\nText\n\n3"
    assert unpaged(alone) == "Case: 12-345 Document: 3\n\nText\n\n3", "one page has no running head"


def test_notes_below_a_rule_go_to_the_end() -> None:
    first = "The words of the text go on from one page to the next one, and they are not\nto be"
    text = (
        f"{first}\n_______________\n1 A note, which stands in\nbetween.\n\f   2\nparted by a note."
    )
    assert unpaged(text) == (
        "The words of the text go on from one page to the next one, and they are not to be parted "
        "by a note.\n\n1 A note, which stands in between."
    )


def test_line_numbers_of_pleading_paper() -> None:
    words = ["the words of a line that is numbered on the left go on"] * 24
    page = "\n".join(f"{n:2}    {line}" for n, line in enumerate(words, 1))
    assert unpaged(page) == " ".join(words)


def test_text_that_is_not_in_lines() -> None:
    long = "word " * 100
    assert unpaged(f"Title\n{long}\n{long}") == f"Title\n\n{long.strip()}\n\n{long.strip()}"
    assert unpaged("Short.") == "Short."
    assert unpaged("") == ""
    assert unpaged("\f\n \f") == ""


@pytest.mark.parametrize(
    "piece", ["a\n", "\n", "\f", "a\n\f", "1\n", " a", "____\n1 x\n", "a-\n", "\t"]
)
def test_repetition_costs_no_more_than_its_length(piece: str) -> None:
    assert len(unpaged(piece * 200)) <= len(piece) * 200
    check_linear(lambda n: unpaged(piece * n), 5_000)


@given(st.text(alphabet="ab1 -_.\n\f\t\r*é", max_size=200))
def test_any_text_keeps_its_letters(text: str) -> None:
    letters = [c for c in unpaged(text) if c in "abé"]
    assert sorted(letters) == sorted(c for c in text if c in "abé") or "\f" in text
