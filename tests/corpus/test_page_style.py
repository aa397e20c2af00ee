from __future__ import annotations

import re

import pytest
from tests.corpus.contrast import contrast

from barrow.corpus.page_style import BASE, DARK, LIGHT, themes, variables


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_words_can_be_read_by_day_and_by_night(palette: dict[str, str]) -> None:
    for words in ("ink", "soft", "link"):
        for ground in ("ground", "raised"):
            assert contrast(palette[words], palette[ground]) >= 4.5


def test_contrast_is_what_the_guidelines_say() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


def test_both_have_the_same_colours_and_all_that_is_used_is_there() -> None:
    assert list(LIGHT) == list(DARK)
    assert set(re.findall(r"var\(--([\w-]+)\)", BASE)) <= set(LIGHT)


def test_themes() -> None:
    style = themes({"ink": "#000"}, {"ink": "#fff"})
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    assert variables({"ink": "#000"}) == "--ink: #000;"
    assert "--ink: #000;" in light
    assert "--ink: #fff;" in dark
