from __future__ import annotations

from barrow.models.clip.templates import EIGHTY, PLAIN, SEVEN, TEMPLATES


def test_templates_are_sentences_with_one_place() -> None:
    """CLIP-10."""
    assert (len(set(EIGHTY)), len(set(SEVEN)), len(PLAIN)) == (80, 7, 1)
    for templates in TEMPLATES.values():
        assert all(t.count("{}") == 1 and t.endswith(".") for t in templates)
    assert set(SEVEN) <= set(EIGHTY)
    assert set(PLAIN) <= set(EIGHTY)
