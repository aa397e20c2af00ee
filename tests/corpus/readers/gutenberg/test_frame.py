"""PILE-7: what Project Gutenberg puts around a book, in all its forms."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from barrow.corpus.readers.gutenberg.frame import take_out_of_frame

BOOK = "CHAPTER I\n\nIt was a mound.\n\n  _Verse_,\n  more verse.\n\nTHE END"
MODERN = """The Project Gutenberg EBook of A Mound, by Ann Lee

This eBook is for the use of anyone anywhere at no cost and with
almost no restrictions whatsoever.

Title: A Mound
"""
LICENCE = """

Updated editions will replace the previous one--the old editions will
be renamed.

*** START: FULL LICENSE ***

THE FULL PROJECT GUTENBERG LICENSE
Section 1.  General Terms of Use and Redistributing Project Gutenberg-tm
electronic works
"""
SMALL = """**The Project Gutenberg Etext of A Mound, by Ann Lee**
#1 in our series by Ann Lee

Copyright laws are changing all over the world, be sure to check.

***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***
Why is this "Small Print!" statement here?  You know: lawyers.

*BEFORE!* YOU USE OR READ THIS ETEXT
By using or reading any part of this PROJECT GUTENBERG-tm etext...
"""
PRINT_END = "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*"
STARS = "*** START OF THIS PROJECT GUTENBERG EBOOK A MOUND ***"
END_STARS = "*** END OF THIS PROJECT GUTENBERG EBOOK A MOUND ***"
END_LINE = "End of Project Gutenberg's A Mound, by Ann Lee"

HEADERS = {
    "this": (f"{MODERN}\n{STARS}", "stars"),
    "the": (f"{MODERN}\n*** START OF THE PROJECT GUTENBERG EBOOK A MOUND ***", "stars"),
    "narrow": (f"{MODERN}\n***START OF THE PROJECT GUTENBERG EBOOK A MOUND***", "stars"),
    "long": (
        f"{MODERN}\n*** START OF THIS PROJECT GUTENBERG EBOOK A MOUND OF EARTH\nAND STONE ***",
        "stars",
    ),
    "copyrighted": (
        f"{MODERN}\n*** START OF THE COPYRIGHTED PROJECT GUTENBERG EBOOK A MOUND ***",
        "stars",
    ),
    "credits": (
        f"{MODERN}\n{STARS}\n\n\nProduced by Bob and the Online Distributed\nProofreading Team",
        "stars",
    ),
    "etext prepared": (f"{MODERN}\n{STARS}\n\n\nE-text prepared by Bob Roe", "stars"),
    "two credits": (
        f"{MODERN}\n{STARS}\n\nThis etext was prepared by Bob Roe, x@y.org\n\nHTML version by Al.",
        "stars",
    ),
    "note": (
        f"{MODERN}\n{STARS}\n\nProduced by Bob\n\n[Transcriber's Note: Spelling is kept.\n\nAll.]",
        "stars",
    ),
    "small print": (f"{SMALL}{PRINT_END}", "small-print"),
    "small print, spaced": (
        f"{SMALL}*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.10/04/01*END*",
        "small-print",
    ),
    "small print, broken": (
        f"{SMALL}*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93\n*END*",
        "small-print",
    ),
    "small print, credit": (
        f"{SMALL}{PRINT_END}\n\n\n\nThis etext was produced by Bob Roe <x@y.org>.",
        "small-print",
    ),
    "old": (
        "This is the Project Gutenberg Etext of A Mound\n\n*This file\n\nWe produce about",
        "plain",
    ),
    "oldest": ("The Project Gutenberg Etext of A Mound, by Ann Lee", "plain"),
    "beginning": ("About it\n\nBeginning of this Project Gutenberg Etext", "plain"),
    "french": (f"Texte\n\n{'-' * 20} DEBUT DU FICHIER mound1 {'-' * 20}", "plain"),
    "german": (
        f"{MODERN}\n*** ANFANG DIESES PROJEKT GUTENBERG EBOOKS A MOUND ***",
        "stars",
    ),
}
FOOTERS = {
    "this": (f"{END_LINE}\n\n{END_STARS}{LICENCE}", "stars"),
    "the": (f"*** END OF THE PROJECT GUTENBERG EBOOK A MOUND ***{LICENCE}", "stars"),
    "narrow": (f"***END OF THE PROJECT GUTENBERG EBOOK A MOUND***{LICENCE}", "stars"),
    "end of the": (
        f"End of the Project Gutenberg EBook of A Mound, by\nAnn Lee\n\n{END_STARS}{LICENCE}",
        "stars",
    ),
    "plain": (END_LINE, "plain"),
    "plain, etext": ("End of The Project Gutenberg Etext of A Mound", "plain"),
    "upper case": ("END OF PROJECT GUTENBERG'S A MOUND", "plain"),
    "german": ("Ende dieses Projekt Gutenberg Etextes A Mound", "plain"),
    "german 2": ("Ende dieses Project Gutenberg Etext", "plain"),
    "french": ("Fin de Project Gutenberg Etext A Mound", "plain"),
    "french 2": ("Fin du projet Gutenberg A Mound", "plain"),
    "french file": (f"{'-' * 20} FIN DU FICHIER mound1 {'-' * 20}", "plain"),
    "dutch": ("Einde van het Project Gutenberg EBook A Mound", "plain"),
    "licence only": (LICENCE.strip(), "plain"),
    "small print after it": (f"{END_LINE}\n\n{SMALL}{PRINT_END}", "plain"),
    "note": (f"Transcriber's Notes:\n\nA word was mended.\n\n{END_STARS}{LICENCE}", "stars"),
    "errors": (
        f"Typographical errors corrected by the etext transcriber:\n\nmoud=> mound\n\n{END_STARS}",
        "stars",
    ),
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("footer", FOOTERS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_header_with_every_footer(header: str, footer: str, line_end: str) -> None:
    """PILE-7: nothing of the licence is left, nothing of the book is lost."""
    top, header_form = HEADERS[header]
    bottom, footer_form = FOOTERS[footer]
    text = f"{top}\n\n\n{BOOK}\n\n\n{bottom}\n".replace("\n", line_end)
    framed = take_out_of_frame(text)
    assert framed.book == BOOK
    assert (framed.header_form, framed.footer_form) == (header_form, footer_form)
    # No line is in none of the three.
    parts = "\n".join((framed.header, framed.book, framed.footer))
    assert set(parts.split("\n")) == set(text.replace("\r", "").split("\n"))


def test_small_print_at_the_end_alone() -> None:
    book = "\n\n".join([BOOK] * 40)
    small_print = SMALL[SMALL.index("***START") :]
    framed = take_out_of_frame(f"{book}\n\n{small_print}{PRINT_END}\n")
    assert framed.book == book
    assert (framed.header_form, framed.footer_form) == ("none", "small-print")


def test_without_a_frame_nothing_is_taken() -> None:
    for text in (BOOK, "Produced by a mill, flour is white.\n\nMore.", f"Title: A\n\n{BOOK}"):
        framed = take_out_of_frame(text)
        assert framed == ("", text, "", "none", "none")


def test_the_book_s_own_words_stay() -> None:
    book = (
        "Produced by the mill, flour is white.\n\nThe end of the project was near.\n\n"
        "Title: a word\n\nTranscribers were monks.\n\nEnd of the chapter"
    )
    framed = take_out_of_frame(f"{MODERN}\n{STARS}\n\nBy Ann Lee\n\n{book}\n\n{END_STARS}{LICENCE}")
    assert framed.book == f"By Ann Lee\n\n{book}"


def test_a_book_may_begin_like_a_credit() -> None:
    book = "Prepared for the king, the feast began.\n\nThey ate."
    assert take_out_of_frame(f"{STARS}\n\n{book}\n\n{END_STARS}").book == book


def test_notes_of_transcribers_may_be_kept() -> None:
    note = "[Transcriber's Note: Spelling is kept.]"
    text = f"{MODERN}\n{STARS}\n\nProduced by Bob\n\n{note}\n\n{BOOK}\n\n{note}\n\n{END_STARS}"
    framed = take_out_of_frame(text, transcriber_notes=True)
    assert framed.book == f"{note}\n\n{BOOK}\n\n{note}"
    assert take_out_of_frame(text).book == BOOK


def test_licence_between_works_of_a_collection() -> None:
    notice = "<<THIS ELECTRONIC VERSION OF THE COMPLETE WORKS IS COPYRIGHT\nBY X. CHARGES>>"
    framed = take_out_of_frame(f"{SMALL}{PRINT_END}\n\none\n\n{notice}\n\ntwo\n\n{END_LINE}")
    assert framed.book == "one\n\n\ntwo"
    two = f"{STARS}\n\none\n\n{END_STARS}{LICENCE}\n{MODERN}\n{STARS}\n\ntwo\n\n{END_STARS}"
    assert take_out_of_frame(two).book.split() == ["one", "two"]


@pytest.mark.parametrize("piece", ["*", "*\n", " ", "End of ", "[", "\n"])
def test_time_is_linear(piece: str) -> None:
    check_linear(lambda n: take_out_of_frame(piece * n), 5_000)
    check_linear(lambda n: take_out_of_frame(f"{STARS}\n{piece * n}\n{END_STARS}"), 5_000)
