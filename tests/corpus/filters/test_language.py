"""Language identification (PILE-8, BEYOND-12)."""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import config
from barrow.corpus.filters import language
from barrow.corpus.filters.filter import KEEP
from barrow.corpus.filters.language import Language, identify
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError, MissingExtra

SENTENCES = {
    "en": "The old mound on the hill was built by people whose names nobody remembers today.",
    "de": "Der alte Hügel wurde von Menschen gebaut, an deren Namen sich niemand mehr erinnert.",
    "fr": "Le vieux tertre sur la colline fut bâti par des gens dont personne ne connaît le nom.",
    "es": "El viejo túmulo de la colina fue construido por personas cuyos nombres nadie recuerda.",
    "ru": "Старый курган на холме построили люди, имён которых сегодня никто не помнит.",
    "el": "Ο παλιός τύμβος στο λόφο χτίστηκε από ανθρώπους που κανείς δεν θυμάται σήμερα.",
    "ja": "丘の上の古い塚は、今では誰も名前を覚えていない人々によって造られました。",
    "zh": "山上的古老土丘是由今天没有人记得名字的人们建造的。",
    "ko": "언덕 위의 오래된 무덤은 오늘날 아무도 이름을 기억하지 못하는 사람들이 만들었습니다.",
    "ar": "بنى التل القديم أناس لا يتذكر أحد أسماءهم اليوم.",
    "he": "התל הישן שעל הגבעה נבנה בידי אנשים שאיש אינו זוכר היום את שמותיהם.",
    "hi": "पहाड़ी पर पुराना टीला उन लोगों ने बनाया था जिनके नाम आज किसी को याद नहीं हैं।",
    "fi": "Mäellä olevan vanhan kummun rakensivat ihmiset, joiden nimiä kukaan ei enää muista.",
    "pl": "Stary kopiec na wzgórzu zbudowali ludzie, których imion nikt już dzisiaj nie pamięta.",
}
CODE = (
    """
for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }
if (x->next != NULL && x->value == 0x7f) { free(x->next); x->next = NULL; }
return (double)sum / (n - 1);
"""
    * 5
)
MATHS = "Solve -2*x + 14 = 3*(x - 7) for x.\n7\nExpand (3*a - 2)*(a**2 + 4*a - 1).\n" * 3


def texts_of(*texts: str) -> Texts:
    return Texts.of_strings(texts, [{}] * len(texts), Scratch())


def test_languages_are_told_apart() -> None:
    found = identify(texts_of(*SENTENCES.values()))
    assert found.codes.tolist() == list(SENTENCES)
    assert found.scores.min() > 0.6


@pytest.mark.parametrize("text", [CODE, MATHS, "", "Hi.", "12 34 56", "A" * 19, "((()))" * 1000])
def test_what_has_too_little_language_is_undetermined(text: str) -> None:
    found = identify(texts_of(text))
    assert (found.codes.tolist(), found.scores.tolist()) == (["und"], [0.0])


def test_capitals_links_and_numbers_do_not_confuse() -> None:
    noisy = " ".join(
        f"{word} https://www.exemple.fr/la/page-{number}" for number, word in
        enumerate(SENTENCES["en"].upper().split())
    )  # fmt: skip
    found = identify(texts_of(noisy), min_letter_share=0.1)
    assert found.codes.tolist() == ["en"]


def test_a_long_text_is_told_by_all_its_parts() -> None:
    # What only the beginning says is not enough.
    text = SENTENCES["en"] * 5 + (SENTENCES["de"] + " ") * 100
    assert identify(texts_of(text)).codes.tolist() == ["de"]


def test_decisions() -> None:
    mixed = f"{SENTENCES['en']} {SENTENCES['de']} {SENTENCES['fr']} {SENTENCES['es']}"
    filter_ = Language()
    texts = texts_of(SENTENCES["en"], SENTENCES["de"], CODE, mixed)
    decisions = filter_.decide(texts)
    assert decisions.code.tolist() == [0, 1, 2, 2]
    assert filter_.reasons == ("other-language", "language-unsure")
    scores = identify(texts).scores
    assert decisions.value.tolist() == [0.0, *map(float, scores[1:])]
    assert 0 < scores[3] < 0.65
    assert Language(unsure="keep").decide(texts).code.tolist() == [0, 1, 0, 0]
    assert Language(("en", "de")).decide(texts).code.tolist() == [0, 0, 2, 2]
    assert Language(min_score=1.0).decide(texts).code.tolist() == [2, 2, 2, 2]
    assert Language(("de",), min_score=0.0).decide(texts).code.tolist()[:3] == [1, 0, 2]


def test_causes_in_words() -> None:
    filter_ = Language(("en", "de"))
    assert filter_.cause("other-language", 0.93) == "not en or de, with a likelihood of 0.93"
    assert filter_.cause("language-unsure", 0.3) == "likeliest language only 0.30, less than 0.65"
    assert filter_.cause("language-unsure", 0.0) == "too few words to tell whether it is en or de"


PIECES = st.sampled_from([*SENTENCES.values(), CODE, MATHS, "", "Hi.", "z" * 3000, "\n"])


@settings(max_examples=40)
@given(st.lists(PIECES | st.text(max_size=60), min_size=1, max_size=6))
def test_neighbours_make_no_difference(texts: list[str]) -> None:
    together = identify(texts_of(*texts))
    for i, text in enumerate(texts):
        alone = identify(texts_of(text))
        assert (alone.codes[0], alone.scores[0]) == (together.codes[i], together.scores[i])


@pytest.mark.parametrize(
    "text",
    ["a" * 300_000, "word " * 100_000, "日" * 100_000, "ab9" * 100_000, "-" * 300_000, "ש" * 99_999,
     "\r\n\r" * 50_000, bytes(random.Random(0).randrange(128) for _ in range(99_999)).decode()],
)  # fmt: skip
def test_strange_texts(text: str) -> None:
    found = identify(texts_of(text))
    assert 0 <= found.scores[0] <= 1.0002


def test_no_texts() -> None:
    texts = Texts(np.empty(0, np.uint8), np.zeros(1, np.int64), [], Scratch())
    assert len(Language().decide(texts).code) == 0


def test_settings_are_checked_and_saved() -> None:
    filter_ = Language(("de", "nds"), min_score=0.5)
    assert config.from_json(Language, config.to_json(filter_)) == filter_
    with pytest.raises(ConfigError, match="min_score must be between 0 and 1, got 65"):
        Language(min_score=65)
    with pytest.raises(ConfigError, match="languages must be codes such as 'en', got"):
        Language((3,))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unsure must be 'reject' or 'keep'"):
        Language(unsure="maybe")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown language 'english'; known are en, "):
        Language(("english",)).decide(texts_of("x"))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    language.language_model.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install '.\[language\]'"):
        identify(texts_of("x"))


def test_without_languages_all_are_kept() -> None:
    texts = texts_of("Der Hund schläft unter dem großen Tisch in der Küche. " * 3)
    assert Language(()).decide(texts).code.tolist() == [KEEP]
    languages = Language(()).describe(texts).languages
    assert languages is not None
    assert languages.tolist() == ["de"]
