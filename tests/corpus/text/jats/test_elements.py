"""Elements of JATS."""

from __future__ import annotations

import pytest

from barrow.corpus.text.jats.elements import FORMAT, bullet


@pytest.mark.parametrize(
    ("kind", "number", "expected"),
    [
        *(("order", 12, "12. "), ("bullet", 1, "- "), ("", 1, "- "), ("alpha-lower", 2, "b. ")),
        *(("alpha-upper", 26, "Z. "), ("alpha-lower", 27, "- "), ("roman-upper", 4, "IV. ")),
        *(("roman-lower", 12, "xii. "), ("roman-lower", 13, "- ")),
    ],
)
def test_bullets(kind: str, number: int, expected: str) -> None:
    assert bullet(kind, number) == expected


def test_formats_of_files() -> None:
    assert all(
        FORMAT.fullmatch(text) for text in ("(DOC)", "(0.06 MB PDF)", "(MP4).", "(12KB XLS)")
    )
    assert not any(FORMAT.fullmatch(text) for text in ("(see text)", "DOC", "(A)", "(TOOLONG)"))
