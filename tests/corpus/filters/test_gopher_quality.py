"""Gopher's quality rules, beside slow ones (PILE-8)."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

# The keys of both are the reasons, in order.
MARKS = {*string.punctuation, *"…“”"}
PROSE = "the barrow that stands there belongs to nobody and keeps with all of them " * 4


def slowly(text: str, rules: GopherQuality) -> str | None:
    words, lines = text.split(), [line.strip() for line in text.splitlines()]
    plain = [word for word in words if not set(word) <= MARKS]
    num_words, num_lines = max(1, len(words)), max(1, len(lines))
    mean = sum(map(len, plain)) / max(1, len(plain))
    ellipses = (text.count("...") + text.count("…")) / num_words
    bullets = sum(line.startswith(("•", "-")) for line in lines) / num_lines
    cut_off = sum(line.endswith(("…", "...")) for line in lines) / num_lines
    alphabetic = sum(any(c.isalpha() for c in word) for word in words) / num_words
    stop_words = len(set(words) & set(rules.stop_words))
    for reason, value, least, most in (
        ("short-doc", len(plain), rules.min_words, None),
        ("long-doc", len(plain), None, rules.max_words),
        ("below-avg-threshold", mean, rules.min_mean_word_length, None),
        ("above-avg-threshold", mean, None, rules.max_mean_word_length),
        ("too-many-hashes", text.count("#") / num_words, None, rules.max_symbols_per_word),
        ("too-many-ellipsis", ellipses, None, rules.max_symbols_per_word),
        ("too-many-bullets", bullets, None, rules.max_bullet_lines),
        ("too-many-end-ellipsis", cut_off, None, rules.max_ellipsis_lines),
        ("below-alpha-threshold", alphabetic, rules.min_alphabetic_words, None),
        ("enough-stop-words", stop_words, rules.min_stop_words, None),
    ):
        if (least is not None and value < least) or (most is not None and value > most):
            return f"gopher-{reason}"
    return None


def reasons_of(rules: GopherQuality, *texts: str) -> list[str | None]:
    decisions = rules.decide(Texts.of_strings(texts, [{}] * len(texts), Scratch()))
    return [rules.reasons[code - 1] if code else None for code in decisions.code.tolist()]


PIECES = [
    "the ",
    "words of ",
    "some prose and ",
    "# ",
    "...",
    "wait… ",
    "\n",
    "- ",
    "• ",
    "12 ",
    "“ ",
    "\r\n",
]
PIECES += ["a ", "incomprehensibilities ", "日本語 ", "é", "--- "]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
OFF = dict.fromkeys(
    (
        *("min_words", "max_words", "min_mean_word_length", "max_mean_word_length"),
        *("max_symbols_per_word", "max_bullet_lines", "max_ellipsis_lines"),
        *("min_alphabetic_words", "min_stop_words"),
    )
)
SOME = {
    "min_words": 3,
    "max_words": 20,
    "min_mean_word_length": 2.5,
    "max_mean_word_length": 5.0,
    "max_symbols_per_word": 0.3,
    "max_bullet_lines": 0.5,
    "max_ellipsis_lines": 0.5,
    "min_alphabetic_words": 0.5,
    "min_stop_words": 2,
}


@pytest.mark.parametrize("chosen", [*SOME, None, "all"])
@given(documents=st.lists(texts, max_size=4))
def test_as_the_slow_rules(chosen: str | None, documents: list[str]) -> None:
    settings = SOME if chosen == "all" else OFF | {k: v for k, v in SOME.items() if k == chosen}
    rules = GopherQuality(**settings)  # type: ignore[arg-type]
    assert reasons_of(rules, *documents) == [slowly(text, rules) for text in documents]
    assert from_json(GopherQuality, to_json(rules)) == rules


def test_each_reason_is_met() -> None:
    documents = {
        "short-doc": "too few words",
        "long-doc": "word " * 100_001,
        "below-avg-threshold": "ab " * 60,
        "above-avg-threshold": "abcdefghijklm " * 60,
        "too-many-hashes": PROSE + "# " * 40,
        "too-many-ellipsis": PROSE + "... " * 40,
        "too-many-bullets": "- " + PROSE,
        "too-many-end-ellipsis": PROSE + "...",
        "below-alpha-threshold": PROSE + "1234 " * 40,
        "enough-stop-words": "other words " * 40,
    }
    found = reasons_of(GopherQuality(), PROSE, *documents.values())
    assert found == [None, *(f"gopher-{name}" for name in documents)]
    assert GopherQuality().reasons == tuple(found[1:])


@pytest.mark.parametrize(
    ("reason", "value", "words"),
    [
        ("short-doc", 37, "37 words, fewer than 50"),
        ("long-doc", 123_456, "123,456 words, more than 100,000"),
        ("below-avg-threshold", 2.5, "words of 2.50 characters on average, fewer than 3.0"),
        ("above-avg-threshold", 12, "words of 12.00 characters on average, more than 10.0"),
        ("too-many-hashes", 0.25, "0.250 number signs a word, more than 0.1"),
        ("too-many-ellipsis", 0.25, "0.250 ellipses a word, more than 0.1"),
        ("too-many-bullets", 0.95, "95.0% of lines begin with a bullet, more than 90.0%"),
        ("too-many-end-ellipsis", 0.5, "50.0% of lines end with an ellipsis, more than 30.0%"),
        ("below-alpha-threshold", 0.5, "50.0% of words have a letter, fewer than 80.0%"),
        ("enough-stop-words", 1, "1 stop words, fewer than 2"),
    ],
)
def test_causes(reason: str, value: float, words: str) -> None:
    assert GopherQuality().cause(f"gopher-{reason}", value) == words


def test_the_figure_that_decided() -> None:
    decisions = GopherQuality().decide(
        Texts.of_strings(["three -- words -- here"], [{}], Scratch())
    )
    assert decisions.value.tolist() == [3.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop_words": ("of the", "and")}, "one word without white space"),
        ({"stop_words": ("the",)}, "must be ≤ the 1 stop words, got"),
    ],
)
def test_wrong_settings(settings: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GopherQuality(**settings)  # type: ignore[arg-type]
