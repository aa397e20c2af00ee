from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.mojibake import repaired


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("donâ€™t â€œsayâ€\x9d itâ€”now â€¦", "don’t “say” it—now …"),
        ("cafÃ© naÃ¯ve Â£5 Ã\xa0 la", "café naïve £5 à la"),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ‚ Ð¼Ð¸Ñ€", "Привет мир"),
        ("æ—¥æœ¬èªž", "日本語"),
        ("ðŸ™‚", "🙂"),
        ("Ã¢â‚¬â„¢ and ÃƒÂ©", "’ and é"),  # twice
    ],
)
def test_what_is_certain_is_repaired(wrong: str, right: str) -> None:
    assert repaired(wrong) == right


@pytest.mark.parametrize(
    "text",
    [
        "It’s fine — “really” – à é ü",
        "MINHA IRMÃ… CAFÉ… L’ÂNE SÃO",
        "“Il est allé…” dit-il; ÉTÉ—É–",
        "Привет 日本語 🙂",
        "â",
        "",
    ],
)
def test_what_may_be_meant_is_left_alone(text: str) -> None:
    assert repaired(text) == text


@given(st.text(alphabet="aé’“—日П…ÃÂâ€\x9d ", max_size=30))
def test_any_text(text: str) -> None:
    assert isinstance(repaired(text), str)
    repaired(text).encode()
