from __future__ import annotations

import pytest

from barrow.corpus.text.latex.symbols import accented, typeset


@pytest.mark.parametrize(
    ("accent", "letters", "expected"),
    [("'", "e", "é"), ('"', "o", "ö"), ("c", "c", "ç"), ("`", "\\i", "ì"), ("H", "o", "ő"),
     ("v", "s", "š"), ("~", "", "~"), ("=", "ab", "āb")],
)  # fmt: skip
def test_accents(accent: str, letters: str, expected: str) -> None:
    assert accented(accent, letters) == expected


def test_typeset() -> None:
    assert typeset("``a'' -- b---c `d'") == "\"a\" – b—c 'd'"
