from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.report.owner_sections import carry_over, place

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<")).map(
    "\n{}\n".format
)


def sheet(figure: int, *words: str) -> str:
    made = f"# Sheet\n\n{figure} documents\n\n{place('one', 'Why?')}\n\n{place('two', 'How?')}\n"
    for name, text in zip(("one", "two"), words, strict=False):
        start, end = f"<!-- owner: {name} -->\n", f"<!-- /owner: {name} -->"
        head, _, rest = made.partition(start)
        made = head + start + text + end + rest.partition(end)[2]
    return made


@given(WORDS, WORDS)
def test_what_the_owner_wrote_stays(one: str, two: str) -> None:
    assert carry_over(sheet(2), sheet(1, one, two)) == sheet(2, one, two)


def test_nothing_written() -> None:
    assert carry_over(sheet(2), sheet(1)) == sheet(2)
    assert carry_over(sheet(2), "something else") == sheet(2)
    assert carry_over(sheet(2), "") == sheet(2)


def test_a_lost_end_mark_loses_no_words() -> None:
    existing = sheet(1, "mine\n", "yours\n").replace("<!-- /owner: one -->", "")
    assert carry_over(sheet(2), existing) == sheet(2, "mine\n\n\n", "yours\n")
    existing = sheet(1, "mine\n", "yours\n").replace("<!-- /owner: two -->", "")
    assert carry_over(sheet(2), existing) == sheet(2, "mine\n", "yours\n\n")


def test_a_place_that_is_no_more() -> None:
    existing = "<!-- owner: gone -->\nwords\n<!-- /owner: gone -->\n"
    assert carry_over(sheet(2), existing) == sheet(2)
