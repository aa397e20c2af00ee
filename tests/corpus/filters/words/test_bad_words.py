"""Words of a list, by language (PILE-8)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.texts import Texts
from barrow.corpus.filters.words.bad_words import BadWords
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError, NotFound

ENGLISH = ["darn", "heck", "two words", "a+b", "été", "C++"]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "en.txt"
    path.write_text("\n".join(["", *ENGLISH, "  ", "heck", ""]), "utf-8-sig")
    return path


def decide(rules: BadWords, texts: list[str]) -> list[str | None]:
    code, value = rules.decide(Texts.of_strings(texts, [{}] * len(texts), Scratch()))
    return [rules.cause("bad-words", v) if c else None for c, v in zip(code, value, strict=True)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("well, darn it", "darn"),
        ("DARN", "darn"),
        ("darning socks", None),
        ("xdarn", None),
        ("darn_it", None),
        ("darn4", None),
        ("(darn)", "darn"),
        ("first line\nheck\nlast", "heck"),
        ("two words", "two words"),
        ("two  words", None),
        ("is a+b here", "a+b"),
        ("aab", None),
        ("C++.", "C++"),
        ("L'ÉTÉ !", "été"),
        ("étés", None),
        ("darn\u0301", None),  # with an accent, it is another word
        ("", None),
    ],
)
def test_what_is_found(words: Path, text: str, found: str | None) -> None:
    (cause,) = decide(BadWords({"en": words}, language="en"), [text])
    assert cause == (None if found is None else f"has {found!r} of the list for en")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("darnheck \nCÉé+two_4", max_size=14), min_size=1, max_size=5))
def test_as_c4_searches(words: Path, texts: list[str]) -> None:
    """The expression of C4's own rule, on the text in lower case."""
    some = "|".join(re.escape(word.lower()) for word in ENGLISH)
    rule = re.compile(rf"(?:\W|^)({some})(?:\W|$)")
    expected = [rule.search(text.lower()) is not None for text in texts]
    assert [bool(c) for c in decide(BadWords({"en": words}, language="en"), texts)] == expected


def test_languages_without_blanks_and_without_a_list(words: Path, tmp_path: Path) -> None:
    chinese = tmp_path / "zh.txt"
    chinese.write_text("坏词\n")
    rules = BadWords({"zh": chinese, "en": words})
    prose = "The house on the hill was built by people who came from the other side of the sea"
    texts = [
        f"{prose}, darn.",
        "这座山上的房子是由来自海另一边的人们建造的，他们坏词在那里住了很多年，直到战争开始。",
        "这座山上的房子是由来自海另一边的人们建造的，他们在那里住了很多年，直到战争开始。darn",
        "Das Haus auf dem Hügel wurde von Menschen gebaut, die über das Meer gekommen waren. Darn.",
        prose,
    ]
    expected = ["has 'darn' of the list for en", "has '坏词' of the list for zh", None, None, None]
    assert decide(rules, texts) == expected
    # A list of one language for all texts.
    assert [bool(c) for c in decide(BadWords({"en": words}, "en"), texts)] == [1, 0, 1, 1, 0]


def test_a_fraction_is_kept_by_id(words: Path) -> None:
    ids = [f"{k * 0x9E3779B97F4A7C15 % 2**64:016x}-{k:08x}" for k in range(1_000)]
    texts = ["darn", "fine"] * 500
    rules = BadWords({"en": words}, "en", keep_fraction=0.2)

    def rejected(order: list[int]) -> set[str]:
        metas = [{"id": ids[k]} for k in order]
        some = Texts.of_strings([texts[k] for k in order], metas, Scratch())
        code = rules.decide(some).code
        return {ids[order[i]] for i in np.flatnonzero(code).tolist()}

    found = rejected(list(range(1_000)))
    assert abs(len(found) - 400) < 4 * 9
    assert rejected(list(range(999, -1, -1))) == found


def test_an_edited_list_is_another_setting(words: Path) -> None:
    rules = BadWords({"en": words}, language="en")
    resolved = rules.resolved()
    assert rules.resolved() == resolved != rules
    assert from_json(BadWords, to_json(resolved)) == resolved
    words.write_text("changed\n")
    os.utime(words, ns=(1, 1))
    assert rules.resolved() != resolved
    with pytest.raises(ConfigError, match=r"en.txt: a list has changed; expected sha256"):
        decide(resolved, ["text"])


def test_bad_settings(words: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least one language, got none"):
        BadWords({})
    with pytest.raises(ConfigError, match="language must be 'auto' or one of en, got 'de'"):
        BadWords({"en": words}, language="de")
    with pytest.raises(ConfigError, match="keep_fraction must be ≥ 0 and < 1, got 1"):
        BadWords({"en": words}, keep_fraction=1)
    with pytest.raises(NotFound, match=r"none.txt is not a file; expected a list"):
        BadWords({"en": tmp_path / "none.txt"}).resolved()
    (tmp_path / "blank").write_text("\n \n")
    with pytest.raises(ConfigError, match="has no words; expected one a line"):
        BadWords({"en": tmp_path / "blank"}).resolved()
    (tmp_path / "many").write_text("\n".join(f"{k:x}word{k}" for k in range(90_000)))
    with pytest.raises(ConfigError, match=r"many has 90,000 words, too many to search for"):
        BadWords({"en": tmp_path / "many"}).resolved()
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    with pytest.raises(ConfigError, match="latin must be UTF-8, one word a line"):
        BadWords({"en": tmp_path / "latin"}).resolved()
