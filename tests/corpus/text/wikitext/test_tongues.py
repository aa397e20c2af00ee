"""PILE-1: names of languages before foreign words."""

from __future__ import annotations

import re

import pytest

from barrow.corpus.text.wikitext.template_values import LANGUAGE_LABELS

# ISO 639, part 1; 2 and 3 for those that have no letter pair. The names are the English
# Wikipedia's where the standard has several.
ISO_639 = """
ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, bo Tibetan, br Breton,
bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en English,
eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish,
gd Scottish Gaelic, gl Galician, gu Gujarati, he Hebrew, hi Hindi, hr Croatian, hu Hungarian,
hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh,
km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin, lb Luxembourgish,
lt Lithuanian, lv Latvian, mi Māori, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi,
ms Malay, mt Maltese, my Burmese, ne Nepali, nl Dutch, no Norwegian, pa Punjabi, pl Polish,
ps Pashto, pt Portuguese, ro Romanian, ru Russian, sa Sanskrit, si Sinhala, sk Slovak,
sl Slovene, so Somali, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu,
tg Tajik, th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese,
yi Yiddish, zh Chinese, ang Old English, fro Old French, grc Ancient Greek, haw Hawaiian,
non Old Norse
"""
NAMES = dict(entry.strip().split(" ", 1) for entry in ISO_639.replace("\n", " ").split(","))


@pytest.mark.parametrize("code", NAMES)
def test_name(code: str) -> None:
    assert LANGUAGE_LABELS[code] == NAMES[code]


def test_every_label_is_that_of_its_language() -> None:
    for code, label in LANGUAGE_LABELS.items():
        assert re.fullmatch(r"[a-z]{2,3}(-[a-z]{3})?", code), code
        assert NAMES[code.partition("-")[0]] == label
