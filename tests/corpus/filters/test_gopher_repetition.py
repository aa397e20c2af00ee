"""Gopher's repetition rules, on texts made to meet each of them (PILE-8)."""

from __future__ import annotations

import random

import pytest

from barrow.config import from_json, to_json
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

OFF = GopherRepetition(None, None, None, None, (), ())


def fresh(num: int, seed: int) -> str:
    """Words of which none occurs twice."""
    rng = random.Random(seed)
    return " ".join(
        f"w{seed}x{k}{rng.choice('abcdefgh') * rng.randrange(1, 6)}" for k in range(num)
    )


def reasons_of(rules: GopherRepetition, *texts: str) -> list[str | None]:
    decisions = rules.decide(Texts.of_strings(texts, [{}] * len(texts), Scratch()))
    return [rules.reasons[code - 1] if code else None for code in decisions.code.tolist()]


def again(n: int, times: int, num_other: int) -> str:
    """Fresh words, and n words that come back among them."""
    ngram = fresh(n, 1)
    return " ".join(f"{ngram} {fresh(num_other, 10 + k)}" for k in range(times))


FIRST, SECOND = fresh(30, 1), fresh(30, 2)
MET = {
    "empty": "",
    "dup-para-frac": "a\n\na\n\n" + FIRST + "\n" + SECOND,
    "dup-para-char-frac": "\n\n".join([FIRST, "x", "y", FIRST]),
    "dup-line-frac": "a\nb\na\nb\n" + FIRST,
    "dup-line-char-frac": "\n".join([FIRST, "x", "y", "z", FIRST]),
    "top-2-gram": again(2, 30, 3),
    "top-3-gram": again(3, 20, 9),
    "top-4-gram": again(4, 20, 15),
    **{f"duplicated-{n}-n-grams": again(n, 30, 3 * n) for n in range(5, 11)},
}


def test_prose_is_kept() -> None:
    assert reasons_of(GopherRepetition(), FIRST + "\n\n" + SECOND, fresh(500, 3)) == [None, None]


def only(name: str) -> GopherRepetition:
    """Only the rule of a name."""
    for field, rule in (
        ("max_repeated_paragraphs", "dup-para-frac"),
        ("max_repeated_paragraph_characters", "dup-para-char-frac"),
        ("max_repeated_lines", "dup-line-frac"),
        ("max_repeated_line_characters", "dup-line-char-frac"),
    ):
        if rule == name:
            return from_json(
                GopherRepetition, to_json(OFF).replace(f'"{field}": null', f'"{field}": 0.2')
            )
    pairs = GopherRepetition().top_ngrams + GopherRepetition().repeated_ngrams
    chosen = tuple(pair for pair in pairs if f"-{pair[0]}-" in name)
    top = chosen if name.startswith("top") else ()
    return GopherRepetition(None, None, None, None, top, () if top else chosen)


@pytest.mark.parametrize("name", MET)
def test_each_reason_is_met(name: str) -> None:
    assert reasons_of(only(name), FIRST, MET[name]) == [None, f"gopher-{name}"]
    assert reasons_of(OFF, MET[name]) == ["gopher-empty" if name == "empty" else None]


@pytest.mark.parametrize("name", [name for name in MET if "-n-grams" not in name])
def test_the_first_reason_is_given(name: str) -> None:
    assert reasons_of(GopherRepetition(), MET[name]) == [f"gopher-{name}"]


def test_shares_at_the_limit_stay() -> None:
    text = "\n".join(["same", *(f"line{k}" for k in range(8)), "same"])  # one line of ten
    rules = GopherRepetition(None, None, 0.1, None, (), ())
    assert reasons_of(rules, text) == [None]
    assert reasons_of(GopherRepetition(None, None, 0.09, None, (), ()), text) == [
        "gopher-dup-line-frac"
    ]
    assert rules.decide(Texts.of_strings([text], [{}], Scratch())).value.tolist() == [0.0]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("empty", "an empty text"),
        ("dup-para-frac", "50.0% of paragraphs are repeated, more than 30.0%"),
        (
            "dup-para-char-frac",
            "50.0% of characters are in repeated paragraphs, more than 20.0%",
        ),
        ("dup-line-frac", "50.0% of lines are repeated, more than 30.0%"),
        ("dup-line-char-frac", "50.0% of characters are in repeated lines, more than 20.0%"),
        ("top-3-gram", "the most frequent 3-gram: 50.0% of the characters, more than 18.0%"),
        ("duplicated-5-n-grams", "repeated 5-grams: 50.0% of the characters, more than 15.0%"),
    ],
)
def test_causes(reason: str, words: str) -> None:
    assert GopherRepetition().cause(f"gopher-{reason}", 0.5) == words


def test_settings() -> None:
    rules = GopherRepetition(repeated_ngrams=((7, 0.5),))
    assert from_json(GopherRepetition, to_json(rules)) == rules
    assert rules.reasons[-1] == "gopher-duplicated-7-n-grams"
    with pytest.raises(ConfigError, match="top_ngrams must have 2 to 4 words, got 5"):
        GopherRepetition(top_ngrams=((5, 0.1),))
    with pytest.raises(ConfigError, match="repeated_ngrams must have 5 to 10 words, got 11"):
        GopherRepetition(repeated_ngrams=((11, 0.1),))
