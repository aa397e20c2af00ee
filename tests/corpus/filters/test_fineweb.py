"""FineWeb's rules, beside slow ones (PILE-8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

LONG = "a line that is longer than thirty characters"
TERMINAL = (".", "!", "?", "。")


def slowly(text: str, rules: FineWeb) -> str | None:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return "fineweb-empty"
    ending = sum(line.endswith(TERMINAL) for line in lines) / len(lines)
    if rules.min_terminal_lines is not None and ending < rules.min_terminal_lines:
        return "fineweb-line-punct-ratio"
    short = sum(len(line) <= rules.short_line for line in lines) / len(lines)
    if rules.max_short_lines is not None and short > rules.max_short_lines:
        return "fineweb-short-line-ratio"
    again = sum(len(line) for k, line in enumerate(lines) if line in lines[:k])
    again_share = again / len(text.replace("\n", ""))
    if rules.max_repeated_characters is not None and again_share > rules.max_repeated_characters:
        return "fineweb-char-dup-ratio"
    newlines = text.count("\n") / len(text.split())
    if rules.max_newlines_per_word is not None and newlines > rules.max_newlines_per_word:
        return "fineweb-list-ratio"
    return None


def reasons_of(rules: FineWeb, *texts: str) -> list[str | None]:
    decisions = rules.decide(Texts.of_strings(texts, [{}] * len(texts), Scratch()))
    return [rules.reasons[code - 1] if code else None for code in decisions.code.tolist()]


PIECES = [
    LONG + ".\n",
    LONG + "\n",
    "short.\n",
    "日本語。\n",
    "\n",
    " \n",
    "\u00a0",
    "no end ",
    "é" * 30,
]
PIECES += [f"{LONG}, number {number}.\n" for number in range(8)]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
RULES = [
    FineWeb(),
    FineWeb(min_terminal_lines=0.5, short_line=6, max_repeated_characters=0.3),
    FineWeb(max_short_lines=None, max_repeated_characters=None, max_newlines_per_word=0.2),
    FineWeb(None, None, 30, None, None),
]


@pytest.mark.parametrize("rules", RULES)
@given(documents=st.lists(texts, max_size=4))
def test_as_the_slow_rules(rules: FineWeb, documents: list[str]) -> None:
    assert reasons_of(rules, *documents) == [slowly(text, rules) for text in documents]
    assert from_json(FineWeb, to_json(rules)) == rules


def test_each_reason_is_met() -> None:
    documents = ["", LONG, "Short.\nShorter.", f"{LONG}.\n" * 2, f"{LONG.replace(' ', '-')}.\n\n"]
    documents += [f"{LONG}. {LONG}.\n{LONG}, and another."]
    assert reasons_of(FineWeb(), *documents) == [*FineWeb().reasons, None]


@pytest.mark.parametrize(
    ("reason", "value", "words"),
    [
        ("fineweb-empty", 0.0, "no line that is not white space"),
        (
            "fineweb-line-punct-ratio",
            0.1,
            "10.0% of lines end with a terminal mark, fewer than 12.0%",
        ),
        ("fineweb-short-line-ratio", 0.7, "70.0% of lines are short, more than 67.0%"),
        (
            "fineweb-char-dup-ratio",
            0.02,
            "2.00% of characters are in repeated lines, more than 1.00%",
        ),
        ("fineweb-list-ratio", 0.5, "0.50 newlines a word, more than 0.3"),
    ],
)
def test_causes(reason: str, value: float, words: str) -> None:
    assert FineWeb().cause(reason, value) == words
