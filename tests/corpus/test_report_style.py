from __future__ import annotations

import re

from barrow.corpus.report_style import STYLE
from barrow.corpus.survey import STEPS

DARK = STYLE.partition("prefers-color-scheme: dark")[2].partition("* {")[0]
LIGHT = STYLE.partition("@media")[0]


def colours(style: str) -> dict[str, tuple[float, ...]]:
    found = re.findall(r"--(\w+): #([0-9a-f]{3,6});", style)
    wide = {name: code if len(code) == 6 else "".join(2 * c for c in code) for name, code in found}
    return {
        name: tuple(int(code[k : k + 2], 16) / 255 for k in (0, 2, 4))
        for name, code in wide.items()
    }


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """As the Web Content Accessibility Guidelines define it."""

    def luminance(colour: tuple[float, ...]) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_words_can_be_read_by_day_and_by_night() -> None:
    for style in (LIGHT, DARK):
        palette = colours(style)
        assert len(palette) == 13
        for words in ("ink", "soft", "link"):
            for ground in ("ground", "raised"):
                assert contrast(palette[words], palette[ground]) >= 4.5


def test_nothing_is_fetched() -> None:
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "@font-face" not in STYLE
    assert "<" not in STYLE
    assert "&" not in STYLE
    assert STYLE.count("{") == STYLE.count("}")


def test_what_charts_are_filled_with_has_a_colour() -> None:
    kinds = {"kept", "train", "validation", "test", "exact", "near", "track", "column", "area"}
    kinds |= {f"lost-{step}" for step in STEPS}
    filled = set(re.findall(r"\.([\w-]+)(?=[^{}]*\{ fill:)", STYLE))
    assert kinds <= filled
