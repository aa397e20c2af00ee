from __future__ import annotations

from pathlib import Path

import pytest

from barrow.weights.model_card import read_card, write_card


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nlicense: mit # free\nlanguage:\n- en\n---\n# x", {"license": "mit"}),
        (
            "---\nlicense: 'it''s'\nmodel_name: \"a: b\"\n---",
            {"license": "it's", "model_name": "a: b"},
        ),
        ("---\nlicense: mit\n", {}),
        ("# no head\nlicense: mit\n---\n", {}),
        ("", {}),
    ],
)
def test_the_head_of_a_readme(text: str, expected: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(text)
    assert read_card(tmp_path) == expected


def test_what_is_written_is_read(tmp_path: Path) -> None:
    card = {"model_name": 'a "b" \\ ü', "license": "other", "license_link": "https://x#y"}
    write_card(tmp_path, card)
    assert read_card(tmp_path) == card
    write_card(tmp_path / "none", {})
    assert read_card(tmp_path / "none") == {}
