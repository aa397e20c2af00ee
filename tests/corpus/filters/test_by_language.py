"""Rules by language (PILE-8)."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import numpy as np
import pytest

from barrow.config import from_json, to_json
from barrow.corpus import Domain, PlainText, Recipe
from barrow.corpus.filters.by_language import (
    ByLanguage,
    has_rules,
    language_rules,
    recipe_by_language,
)
from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.filter import KEEP
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

ENGLISH = (GopherQuality(), GopherRepetition(), C4(), FineWeb())
PROSE = {
    "en": "Below the hill there was a village that nobody has seen for many years. The old people "
    "told us that it had been a place of markets and of music. In the winter the snow "
    "closed the road, and those who lived there had to wait for the spring with what they "
    "had kept. Once a stranger came on foot. He asked for bread, and they gave him a bed "
    "as well. When he left, he wrote a letter to thank them.",
    "de": "Unter dem Hügel lag ein Dorf, das seit vielen Jahren niemand mehr gesehen hat. Die "
    "alten Leute erzählten uns, dass es dort Märkte und Musik gegeben habe. Im Winter "
    "versperrte der Schnee die Straße, und wer dort wohnte, musste mit seinen Vorräten "
    "auf den Frühling warten. Einmal kam ein Fremder zu Fuß. Er bat um Brot, und sie gaben "
    "ihm auch ein Bett. Als er ging, schrieb er ihnen einen Brief, um sich zu bedanken.",
    "ru": "Под холмом была деревня, которую уже много лет никто не видел. Старики рассказывали "
    "нам, что там были рынки и музыка. Зимой снег закрывал дорогу, и те, кто там жил, "
    "должны были ждать весны с тем, что они запасли. Однажды пришёл пешком чужой человек. "
    "Он попросил хлеба, и они дали ему ещё и постель. Когда он уходил, он написал им письмо, "
    "чтобы поблагодарить их за всё.",
    "zh": "山下有一个村子，已经很多年没有人见过了。老人们告诉我们，那里曾经有集市和音乐。冬"
    "天的雪封住了道路，住在那里的人只能靠自己存下的东西等待春天。有一次，一个陌生人走"
    "路来到这里。他要一点面包，他们还给了他一张床。他离开的时候，写了一封信感谢他们。"
    "这封信今天还在，放在山上的小屋里，谁都可以去看。",
    "ja": "丘の下に、もう何年も誰も見たことのない村がありました。お年寄りたちは、そこには市"
    "場や音楽があったと話してくれました。冬になると雪が道をふさぎ、そこに住む人々は蓄"
    "えたもので春を待たなければなりませんでした。ある時、見知らぬ人が歩いてやって来ま"
    "した。彼はパンを求め、村の人は寝床も与えました。去る時に、彼はお礼の手紙を書きま"
    "した。その手紙は今も丘の上の小屋にあります。",
    "el": "Κάτω από το λόφο υπήρχε ένα χωριό που κανείς δεν έχει δει εδώ και πολλά χρόνια. Οι "
    "γέροι μας έλεγαν ότι εκεί γίνονταν παζάρια και υπήρχε μουσική. Τον χειμώνα το χιόνι "
    "έκλεινε τον δρόμο και όσοι ζούσαν εκεί έπρεπε να περιμένουν την άνοιξη με ό,τι είχαν "
    "φυλάξει. Μια φορά ήρθε ένας ξένος με τα πόδια. Ζήτησε ψωμί και του έδωσαν και ένα "
    "κρεβάτι. Όταν έφυγε, έγραψε ένα γράμμα για να τους ευχαριστήσει.",
    "hi": "पहाड़ी के नीचे एक गाँव था जिसे कई वर्षों से किसी ने नहीं देखा है। बूढ़े लोग हमें "
    "बताते थे कि वहाँ बाज़ार और संगीत हुआ करता था। सर्दियों में बर्फ़ सड़क को बंद कर देती "
    "थी और वहाँ रहने वालों को अपने बचाए हुए सामान के साथ वसंत की प्रतीक्षा करनी पड़ती "
    "थी। एक बार एक अजनबी पैदल आया। उसने रोटी माँगी और उन्होंने उसे एक बिस्तर भी दिया। "
    "जब वह गया तो उसने उनको धन्यवाद देने के लिए एक पत्र लिखा।",
    "ko": "언덕 아래에 여러 해 동안 아무도 보지 못한 마을이 있었습니다. 노인들은 그곳에 시"
    "장과 음악이 있었다고 우리에게 말해 주었습니다. 겨울에는 눈이 길을 막았고, 그곳에 "
    "사는 사람들은 모아 둔 것으로 봄을 기다려야 했습니다. 한번은 낯선 사람이 걸어서 왔"
    "습니다. 그는 빵을 달라고 했고, 사람들은 그에게 잠자리도 주었습니다. 떠날 때 그는 "
    "감사하기 위해 편지를 한 통 썼습니다. 그 편지는 지금도 언덕 위의 작은 집에 있습니"
    "다. 누구나 가서 볼 수 있고, 아이들은 그 편지를 읽으며 글을 배웁니다.",
}
MENUS = {
    "en": "Home\nAbout us\nProducts\nPrices\nContact\nLog in\nShopping cart\nSearch\nImprint\n",
    "de": "Startseite\nÜber uns\nUnsere Produkte\nPreise\nKontakt\nAnmelden\nWarenkorb\nSuche\n",
    "ru": "Главная\nО нас\nТовары\nЦены\nКонтакты\nВойти\nКорзина\nПоиск\nНовости\nПомощь\n",
    "zh": "首页\n关于我们\n产品中心\n价格\n联系我们\n登录\n购物车\n搜索\n新闻\n帮助\n",
    "ja": "ホーム\n会社概要\n製品一覧\n価格\nお問い合わせ\nログイン\nカート\n検索\nニュース\n",
    "el": "Αρχική\nΣχετικά με εμάς\nΠροϊόντα\nΤιμές\nΕπικοινωνία\nΣύνδεση\nΚαλάθι\nΑναζήτηση\n",
    "hi": "मुखपृष्ठ\nहमारे बारे में\nउत्पाद\nमूल्य\nसंपर्क\nलॉग इन\nखोज\nसमाचार\nसहायता\n",
    "ko": "홈\n회사 소개\n제품\n가격\n문의하기\n로그인\n장바구니\n검색\n새 소식\n도움말\n",
}


def texts_of(*texts: str) -> Texts:
    return Texts.of_strings(texts, [{}] * len(texts), Scratch())


def reasons_of(rules: ByLanguage, *texts: str) -> list[str]:
    codes = rules.decide(texts_of(*texts)).code.tolist()
    return [rules.reasons[code - 1] if code else "" for code in codes]


def test_prose_stays_and_menus_go_in_many_languages() -> None:
    """With all texts in one block, each by the rules of its language."""
    assert reasons_of(ByLanguage(), *PROSE.values()) == [""] * len(PROSE)
    assert all(reasons_of(ByLanguage(), *(menu * 3 for menu in MENUS.values())))
    for code, text in PROSE.items():
        assert reasons_of(ByLanguage(language=code), text) == [""], code
    rejected = [chosen.decide(texts_of(*PROSE.values())).code != KEEP for chosen in ENGLISH]
    kept = dict(zip(PROSE, ~np.any(rejected, axis=0), strict=True))
    assert [code for code in kept if kept[code]] == ["en"], (
        "the rules for English keep none of them"
    )


def test_english_is_decided_as_without() -> None:
    """The same decisions and figures, alone or among other languages."""
    rng = random.Random(0)
    words = PROSE["en"].split()
    english = [PROSE["en"], MENUS["en"] * 3, PROSE["en"] * 40, PROSE["en"] + " {"]
    english += [" ".join(rng.choices(words, k=rng.randrange(20, 90))) + "." for _ in range(40)]
    code, value = np.zeros(len(english), np.int64), np.zeros(len(english))
    first = 0
    for chosen in ENGLISH:
        found = chosen.decide(texts_of(*english))
        fresh = (found.code != KEEP) & (code == KEEP)
        code[fresh], value[fresh] = found.code[fresh] + first, found.value[fresh]
        first += len(chosen.reasons)
    assert len(set(code.tolist())) > 3
    for rules, others in (
        (ByLanguage(language="en"), []),
        (ByLanguage(), []),
        (ByLanguage(), [PROSE["ja"], PROSE["de"]]),
    ):
        found = rules.decide(texts_of(*others, *english))
        assert found.code[len(others) :].tolist() == code.tolist()
        assert found.value[len(others) :].tolist() == value.tolist()


def test_a_decision_does_not_depend_on_other_texts() -> None:
    both = [*PROSE.values(), *(menu * 3 for menu in MENUS.values())]
    assert reasons_of(ByLanguage(), *both) == [reasons_of(ByLanguage(), text)[0] for text in both]


def test_statistics_of_the_block_stay_valid() -> None:
    """Filters after it use the block's own statistics, which share memory."""
    texts = texts_of(*PROSE.values())
    before = texts.statistics.words.hashes.copy()
    ByLanguage().decide(texts)
    assert (texts.statistics.words.hashes == before).all()


def test_unknown_languages_get_the_neutral_rules() -> None:
    text = "Undir hæðinni var þorp sem enginn hefur séð í mörg ár og fólkið sagði okkur frá. " * 4
    rules = ByLanguage()
    assert not has_rules("is")
    assert not has_rules("und")
    assert has_rules("en")
    assert has_rules("de")
    neutral = ByLanguage(language="und")
    assert rules.describe(texts_of(text)).languages.tolist() == ["is"]  # type: ignore[union-attr]
    assert reasons_of(rules, text) == reasons_of(neutral, text) != [""]
    assert reasons_of(neutral, *PROSE.values()) == [""] * len(PROSE)
    assert reasons_of(neutral, "x\n" * 200) != [""]


def test_the_language_is_reported() -> None:
    assert ByLanguage().describe(texts_of(*PROSE.values())).languages.tolist() == list(PROSE)  # type: ignore[union-attr]
    assert ByLanguage(language="de").describe(texts_of("Hügel")).languages is None


def test_your_own_limits_stay() -> None:
    short = "Ein kurzer Text, der von der Sache und dem Haus erzählt."
    default = ByLanguage((GopherQuality(),), "de")
    assert reasons_of(default, short) == ["gopher-short-doc"]
    assert reasons_of(replace(default, filters=(GopherQuality(min_words=5),)), short) == [""]
    assert reasons_of(replace(default, filters=(GopherQuality(min_words=None),)), short) == [""]


def test_causes_have_the_figure() -> None:
    rules = ByLanguage()
    assert rules.cause("gopher-short-doc", 7) == "7 words, outside the limits of its language"
    assert rules.cause("gopher-long-doc", 123456).startswith("123,456 words, outside")
    assert rules.cause("c4-lorem-ipsum", 1) == "has lorem ipsum"


def test_the_table_fits_the_filters() -> None:
    """At least 30 languages; every limit is one that the filter has and accepts."""
    assert len(language_rules()) > 30
    assert {code for code, row in language_rules().items() if row["unspaced"]} >= {
        *("zh", "ja", "th", "km", "lo", "my", "bo", "und")
    }
    for code, row in language_rules().items():
        for chosen in ENGLISH:
            names = {field.name for field in fields(chosen)}
            assert set(row.get(type(chosen).__name__, {})) <= names, code
        assert reasons_of(ByLanguage(language=code), "") != [""]
        assert has_rules(code) or code == "und"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"language": "xx"}, "language must be 'auto' or one of"),
        ({"min_score": 2.0}, "min_score must be between 0 and 1, got 2.0"),
        ({"filters": (Length(),)}, "filters must be of GopherQuality, GopherRepetition"),
    ],
)
def test_bad_settings(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ByLanguage(**settings)  # type: ignore[arg-type]


def test_a_recipe_by_language() -> None:
    steps = (Length(), GopherQuality(), C4(), Length(2), FineWeb())
    domain = Domain("a", PlainText(), filters=steps, filters_of={"b": (Length(),)})
    recipe = Recipe("r", {"a": domain})
    assert recipe_by_language(recipe, "en") == recipe
    made = recipe_by_language(recipe, "auto")
    assert made.domains["a"].filters == (
        Length(),
        ByLanguage((GopherQuality(), C4())),
        Length(2),
        ByLanguage((FineWeb(),)),
    )
    assert made.domains["a"].filters_of == {"b": (Length(),)}
    assert from_json(Recipe, to_json(made)) == made
    assert ByLanguage().resolved().table_sha256 is not None
