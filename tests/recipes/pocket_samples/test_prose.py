from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.recipes.pocket_samples.prose import paragraphs, sentences

DOCSTRING = """Raise a mound of stones over the place, one after the other.

The `stones` are **not** sorted, see :func:`~hills.sort` and `the
manual <there>`_ for how to do it::

    >>> raise_mound([1, 2, 3])
    3

Parameters
----------
stones : list of int
    The weights of the stones that the mound is made of, in pounds.
grass : bool
    Short.

- The first of the things that have to be looked at before.
- The second, which is written on two lines
  of the list that it is in.

Copyright by those who wrote this, all rights are reserved by them.
.. versionadded:: 3.2 of the long and the short barrow of the hill
https://example.org is where all of this and more can be found by you
"""


def test_paragraphs_of_a_docstring() -> None:
    assert list(paragraphs(DOCSTRING)) == [
        "Raise a mound of stones over the place, one after the other.",
        "The stones are not sorted, see hills.sort and the manual for how to do it:",
        "The weights of the stones that the mound is made of, in pounds.",
        "The first of the things that have to be looked at before.",
        "The second, which is written on two lines of the list that it is in.",
    ]


def test_what_is_no_prose() -> None:
    for text in (
        "x = y + z * (a - b) / c ** d + e[0] - f[1] + 1234567890",
        "Too short to say anything.",
        "Die Größe der Hügel wird von den Leuten im Tal in Ellen gemessen.",
        "1 is what this begins with, and so it is not taken for a sentence.",
        "Use the <b> tag where it is wanted by those who read the page later.",
    ):
        assert list(paragraphs(text)) == []


def test_sentences() -> None:
    text = 'The hill is high. "So it is," they said! Is it (e.g. 10 feet)? Ask v. 2 of it.'
    assert sentences(text) == [
        "The hill is high.",
        '"So it is," they said!',
        "Is it (e.g. 10 feet)?",
        "Ask v. 2 of it.",
    ]


@given(st.text(st.sampled_from("aB. \n\t-=`*:<>#'1"), max_size=300))
def test_every_paragraph_is_one_tidy_line(text: str) -> None:
    for paragraph in paragraphs(text):
        assert paragraph == " ".join(paragraph.split())
        assert " ".join(sentences(paragraph)) == paragraph
        assert "`" not in paragraph
