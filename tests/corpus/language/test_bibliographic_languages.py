"""Codes of libraries."""

from __future__ import annotations

from barrow.corpus.language.codes import language_of_library_code


def test_codes() -> None:
    given = ("eng", "GER", " chi ", "fre", "und", "", "en")
    assert [language_of_library_code(code) for code in given] == [
        "en",
        "de",
        "zh",
        "fr",
        "",
        "",
        "",
    ]
