"""Which headings mark a background (PILE-6)."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from barrow.corpus.readers.uspto.background import Role, background, role_of
from barrow.corpus.readers.uspto.patent import Block, Part


def heading(text: str, part: Part = "body") -> Block:
    return Block(True, part, text)


def paragraph(text: str, part: Part = "body") -> Block:
    return Block(False, part, text)


@pytest.mark.parametrize(
    ("role", "headings"),
    [
        (
            "background",
            [
                *("BACKGROUND", "Background Art", "[0003] BACKGROUND", "1. Field of the Invention"),
                *("FIELD AND BACKGROUND OF THE INVENTION", "I. FIELD", "TECHNICAL FIELD:"),
                *(
                    "Description of Related Art",
                    "BRIEF DESCRIPTION OF THE PRIOR ART",
                    "State of the Art",
                ),
                *("SUMMARY OF THE PRIOR ART", "BACKGROUND AND SUMMARY", "Conventional Methods"),
            ],
        ),
        (
            "end",
            [
                *(
                    "SUMMARY",
                    "BRIEF SUMMARY OF THE INVENTION",
                    "OBJECTS AND SUMMARY",
                    "THE INVENTION",
                ),
                *(
                    "OBJECT OF THE INVENTION",
                    "DISCLOSURE OF INVENTION",
                    "BRIEF DESCRIPTION OF DRAWINGS",
                ),
                *("BRIEF DESCRIPTION OF THE SEVERAL VIEWS", "Technical Problem", "(3) Summary"),
                *(
                    "Advantages of the Invention",
                    "DESCRIPTION OF THE INVENTION",
                    "Description",
                    "EXAMPLE 1",
                ),
            ],
        ),
        (
            "detail",
            ["DETAILED DESCRIPTION", "DESCRIPTION OF THE PREFERRED EMBODIMENTS", "BEST MODE"],
        ),
        (
            "aside",
            [
                *(
                    "CROSS-REFERENCE TO RELATED APPLICATIONS",
                    "RELATED APPLICATIONS",
                    "PRIORITY CLAIM",
                ),
                *("STATEMENT REGARDING FEDERALLY SPONSORED RESEARCH", "GOVERNMENT RIGHTS"),
                *(
                    "COPYRIGHT NOTICE",
                    "REFERENCE TO RELATED PATENT APPLICATIONS",
                    "SEQUENCE LISTING",
                ),
            ],
        ),
        (
            None,
            [
                *(
                    "Field Effect Transistors",
                    "Object Oriented Programming",
                    "Digital Rights Management",
                ),
                *(
                    "Wire Drawing",
                    "Priority Queues",
                    "Description of the Problem",
                    "Patent Literature",
                ),
                *("Disadvantages", "Overview of Networks", "", "BACKGROUND " * 20),
            ],
        ),
    ],
)
def test_roles(role: Role | None, headings: list[str]) -> None:
    assert {text: role_of(heading(text)) for text in headings} == dict.fromkeys(headings, role)


def test_paragraphs_that_are_headings() -> None:
    texts = [
        "BACKGROUND OF THE INVENTION",
        "2. Description of the Prior Art",
        "Summary of the Invention",
    ]
    assert [role_of(paragraph(text)) for text in texts] == ["background", "background", "end"]
    texts = ["BACKGROUND INFORMATION", "TECHNICAL PROBLEM", "Background Information"]
    assert [role_of(paragraph(text)) for text in texts] == ["background", "end", None]
    texts = ["The background of this is known.", "Prior art devices leak.", "Technical Problem"]
    assert [role_of(paragraph(text)) for text in texts] == [None] * 3


def test_from_the_first_heading_to_what_follows() -> None:
    blocks = [
        *(paragraph("In short.", "abstract"), heading("A PUMP"), paragraph("No heading yet.")),
        *(heading("TECHNICAL FIELD"), paragraph("Pumps."), heading("BACKGROUND")),
        *(paragraph("Pumps leak."), heading("Known pumps"), paragraph("They leak too.")),
        *(heading("SUMMARY"), paragraph("Ours does not.")),
    ]
    expected = ["TECHNICAL FIELD", "Pumps.", "BACKGROUND", "Pumps leak.", "Known pumps"]
    assert background(blocks) == [*expected, "They leak too."]
    assert background(blocks[5:]) == ["Pumps leak.", "Known pumps", "They leak too."]
    blocks[9] = heading("DETAILED DESCRIPTION")
    assert background(blocks) == [*expected, "They leak too."]


def test_only_as_much_is_read_as_needed() -> None:
    blocks = iter([heading("BACKGROUND"), paragraph("a"), heading("SUMMARY"), paragraph("b")])
    assert background(blocks) == ["a"]
    assert next(blocks).text == "b"


@pytest.mark.parametrize("part", ["drawings", "detail", "claims", "abstract"])
def test_the_next_part_ends_it(part: Part) -> None:
    blocks = [heading("BACKGROUND"), paragraph("a"), paragraph("b", part), paragraph("c")]
    assert background(blocks) == ["a"]


def test_one_in_the_detailed_part_is_found() -> None:
    blocks = [
        heading("BACKGROUND", "detail"),
        paragraph("a", "detail"),
        heading("SUMMARY", "detail"),
    ]
    assert background(blocks) == ["a"]


def test_a_part_that_the_markup_names() -> None:
    assert background([paragraph("a", "background"), paragraph("b", "detail")]) == ["a"]


def test_asides_are_left_out() -> None:
    blocks = [
        *(heading("FIELD"), paragraph("a"), heading("RELATED APPLICATIONS"), paragraph("no")),
        *(
            heading("BACKGROUND"),
            paragraph("b"),
            paragraph("no", "aside"),
            heading("GOVERNMENT RIGHTS"),
        ),
        *(paragraph("no"), heading("Pumps"), paragraph("c")),
    ]
    assert background(blocks) == ["FIELD", "a", "BACKGROUND", "b", "Pumps", "c"]


def test_nothing_is_guessed() -> None:
    assert background([]) is None
    assert background([paragraph("a"), heading("SUMMARY"), paragraph("b")]) is None
    assert background([heading("BACKGROUND"), heading("SUMMARY"), paragraph("b")]) is None
    assert background([heading("BACKGROUND"), paragraph("1. Field of the Invention")]) is None
    late = [heading("DETAILED DESCRIPTION"), heading("BACKGROUND"), paragraph("a")]
    assert background(late) is None
    late[0] = heading("SUMMARY")
    assert background(late) == ["a"]


def test_time_is_linear() -> None:
    check_linear(
        lambda n: background([heading("FIELD"), paragraph("- " * n), paragraph("D" * n)]), 50_000
    )
    for piece in ("DESCRIPTION OF ", "THE ", "[1] ", "LIST OF" + " A" * 70):
        check_linear(lambda n, piece=piece: role_of(heading(piece * n)), 100)  # type: ignore[misc]
