"""Mojibake is repaired where certain, and correct text in any language stays (PILE-8)."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.text import mojibake
from barrow.corpus.text.mojibake import repair_controls, repair_mojibake

GOOD = [
    "Voilà l’été : « déjà vu », cœur, naïveté… à 5 °C — dit-on ; “CAFÉ…” et ‘ÇA’.",
    "AMANHÃ… AMANHÃ” NÃO É MAÇÃ, IRMÃ’ SÃO PAULO Ã— É—“ É»",
    "Größe, STRASSE Ä Ö Ü „GRÖẞE“ – Äpfel ÄÖÜ™ ÜBER… ß",
    "Þetta reddast. Ærø Åland Ø½ Ø 5 Ø£ ×½ 2×£5 3×4 5×²",
    "Đây là tiếng Việt: Ấn tượng, ‘Â’ “ĂÂ” PHẦN Ấ…",
    "Zażółć gęślą jaźń. ŻÓŁĆ™ Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Привет, мир — «да». Καλημέρα κόσμε· שלום עולם مرحبا بالعالم",
    "नमस्ते दुनिया สวัสดี 你好，世界。こんにちは 안녕하세요",
    "x² ± 3 ≤ ½·π √2 → ∞ ‰ € £ ¥ © ® ™ § ¶ † ‡ • … ‹ › « » ¿ ¡ ª º",
    "Â Ã â ã Ä Å à á è é ï ð ñ ò ó ô",
    "résumé¹ résumé², café”— dit-il — “à”… à…” è™ é… ê”",
    "Emoji 😀🎉 and combining e\u0301, zero\u200bwidth, nb\u00a0sp, \ufffd stays",
    "IRMÃ® E AMANHÃ©2010 MAÇÃº",
    "« Â », «HÂ»",
    "LA LETTRE Â\u00a0: voyelle",
]


@pytest.mark.parametrize("text", GOOD)
def test_good_text_stays(text: str) -> None:
    assert repair_mojibake(text) == (text, 0)
    assert repair_mojibake(text.upper())[0] == text.upper()
    assert repair_mojibake(text.lower())[0] == text.lower()


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text("abcdeéèàâêîôûçñãõäöüßåæø", min_size=1, max_size=9),
            st.text("ABCÉÈÀÂÊÇÑÃÕÄÖÜÅÆØ", min_size=1, max_size=9).map(" ".__add__),
            st.sampled_from(
                [" ", ", ", "…", "”", "’", "“", " — ", "–", "»", "« ", "\u00a0", "™", "."]
            ),
        ),
        max_size=25,
    ).map("".join)
)
def test_words_with_typographic_marks_stay(text: str) -> None:
    assert repair_mojibake(text) == (text, 0)


def damaged(text: str, encoding: str, times: int) -> str:
    for _ in range(times):
        data = text.encode()
        if encoding == "latin-1":
            text = data.decode("latin-1")
        else:
            text = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in data)
    return text


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            "it’s “fine” — really…",
            "café, naïve, Zürich, São Paulo, señor",
            "5 € → £3 ≤ ∞",
            "½ © 2010",
        ),
        *("Привет, мир", "Καλημέρα", "日本語の文章", "שלום עולם", "नमस्ते दुनिया", "žluťoučký kůň"),
        *(
            "Hôm nay trời đẹp quá, phải không?",
            "Добрий день, яблуко",
            "τι κάνεις σήμερα",
            "كيف حالك",
        ),
        *("😀 party 🎉", "ﬁne ﬂuff", "• one\n• two", "«déjà»", "20 °C", "a\u00a0b"),
    ],
)
def test_damage_is_undone(text: str, encoding: str, times: int) -> None:
    harmed = damaged(text, encoding, times)
    repaired, num = repair_mojibake(harmed)
    assert repaired == text
    assert num >= 1
    assert repair_mojibake(f"before {harmed} after.")[0] == f"before {text} after."


def test_evidence_elsewhere_decides_what_is_uncertain() -> None:
    assert repair_mojibake("Ã”, GÃ”TE")[1] == 0
    assert repair_mojibake("Ã”, GÃ”TE and cafÃ©")[0] == "Ô, GÔTE and café"


def test_a_capital_inside_a_word() -> None:
    assert repair_mojibake("in DurrÃ«s, Albania")[0] == "in Durrës, Albania"
    assert repair_mojibake("IN DURRÃ«S")[1] == 0


def test_one_character_of_another_script() -> None:
    assert repair_mojibake("so ã\x8b\x9b it is")[0] == "so ㋛ it is"
    assert repair_mojibake("so ã‹› it is")[1] == 0


def test_text_about_mojibake_stays() -> None:
    for text in ("é becomes Ã© in Latin-1", "'Ã¼' => 'ü',", "I see â€™ and not ’"):
        assert repair_mojibake(text) == (text, 0)
    assert repair_mojibake("é\nÃ©")[0] == "é\né"


def test_what_was_lost_stays() -> None:
    assert repair_mojibake("voil\ufffd â€ x") == ("voil\ufffd â€ x", 0)
    assert repair_mojibake("ï¿½")[0] == "\ufffd"


def test_controls() -> None:
    assert repair_controls("it\x92s \x93fine\x94\x85") == ("it’s “fine”…", 4)
    assert repair_controls("a\x85b") == ("a\x85b", 0)
    assert repair_controls("a\x81b") == ("a\x81b", 0)
    assert repair_controls("plain — text") == ("plain — text", 0)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=80), st.text("ÂÃâ€™œ©\x80\x99\xa0é a\n", max_size=60)))
def test_any_text(text: str) -> None:
    repaired, num = repair_mojibake(text)
    assert (repaired == text) == (num == 0)
    assert len(repaired) <= len(text)


def test_sequences_are_whole_units_in_a_row() -> None:
    """The pattern is written for speed; this is what it says."""
    marks = mojibake._MARKS
    plain = re.compile(
        f"(?:[\xc2-\xdf][{marks}]|[\xe0-\xef][{marks}]{{2}}|[\xf0-\xf4][{marks}]{{3}})+"
    )
    rng = random.Random(0)
    letters = "a é\xc1\xc2\xc3\xdf\xe0\xe2\xef\xf0\xf4\xf5" + marks[:12] * 3
    for _ in range(3000):
        text = "".join(rng.choices(letters, k=12))
        expected = [found.span() for found in plain.finditer(text)]
        assert [found.span() for found in mojibake._SEQUENCES.finditer(text)] == expected
