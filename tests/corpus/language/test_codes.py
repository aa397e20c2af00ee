from __future__ import annotations

import pytest

from barrow.corpus.language.codes import language_of_code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("deu", "de"),
        ("ger", "de"),
        (" ENG ", "en"),
        ("zho", "zh"),
        ("en", ""),
        ("xxx", ""),
        ("", ""),
    ],
)
def test_codes_of_three_letters(code: str, expected: str) -> None:
    assert language_of_code(code) == expected
