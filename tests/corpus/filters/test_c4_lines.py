"""C4's choice of lines, beside a slow one (PILE-8)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.c4_lines import C4Lines
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

CITATION = re.compile(r"\[\d*]|\[edit]|\[citation needed]")


def slowly(text: str, rules: C4Lines) -> str:
    kept = []
    for whole in text.splitlines():
        line = whole.strip()
        words = line.split()
        if rules.max_word_length is not None and any(len(w) > rules.max_word_length for w in words):
            continue
        if not rules.citations:
            line = CITATION.sub("", line)
        if rules.end_marks and (not line.endswith(tuple(rules.end_marks)) or line.endswith("...")):
            continue
        if len(words) < rules.min_words or any(p in line.lower() for p in rules.phrases):
            continue
        kept.append(line)
    return "\n".join(kept).strip()


PIECES = [
    "Three words here.",
    "no end mark",
    "Two words.",
    "\n",
    " ",
    "[1]",
    "[]",
    "[12",
    "[edit]",
    "[",
]
PIECES += [
    "[citation needed]",
    "[٣]",
    "]",
    "Wait for it...",
    "Enable JavaScript now!",
    "x" * 30 + ".",
]
PIECES += [
    "\r\n",
    "\r",
    "\u2028",
    "\u00a0",
    "日本 語 です.",
    "é\n",
    "We use cookies, as you know.",
    '"',
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
RULES = [
    C4Lines(),
    C4Lines(max_word_length=20),
    C4Lines(max_word_length=None, end_marks="", min_words=0, phrases=()),
    C4Lines(citations=True, min_words=1, phrases=("words",)),
]


@pytest.mark.parametrize("rules", RULES)
@given(documents=st.lists(texts, min_size=1, max_size=4))
def test_the_lines_that_stay(rules: C4Lines, documents: list[str]) -> None:
    everything = Texts.of_strings(documents, [{}] * len(documents), Scratch())
    touched = rules.touches(everything)
    for document, is_touched in zip(documents, touched.tolist(), strict=True):
        expected = slowly(document, rules)
        assert rules.rewrite(document, {}).text == expected
        assert is_touched or expected == document


def test_what_is_kept_is_not_touched() -> None:
    fine = ["", "Three words here.", 'One more line.\nAnd "one more."', "日本 語 です."]
    assert not C4Lines().touches(Texts.of_strings(fine, [{}] * len(fine), Scratch())).any()
    changed = ["Three words here.\n", " Three words here.", "Three words here.\r\nAnd three more."]
    changed += ["Has a [1] citation.", "A line without end", "Three words here.\n\nAnd three more."]
    assert C4Lines().touches(Texts.of_strings(changed, [{}] * 6, Scratch())).all()


def test_an_empty_first_line_that_stays() -> None:
    rules = C4Lines(end_marks="", min_words=0)
    assert rules.touches(Texts.of_strings(["\nThree words here"], [{}], Scratch())).all()
    assert rules.rewrite("\nThree words here", {}).text == "Three words here"


def test_what_was_found() -> None:
    text = "A [2] kept line.\nx\nOne.\nTurn JavaScript on, please.\n" + "y" * 1001 + " is long."
    rewritten = C4Lines().rewrite(text, {})
    assert rewritten.text == "A  kept line."
    assert rewritten.found == {
        "c4-long-word": 1,
        "c4-no-end-mark": 1,
        "c4-few-words": 1,
        "c4-phrase": 1,
    }


@pytest.mark.parametrize("piece", ["[1", "[", "x", "x ", "\n", ".", "[1] ", "k", "javascrip"])
def test_large_texts_of_one_piece(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    assert C4Lines().rewrite(text, {}).text == ""
    assert C4Lines().touches(Texts.of_strings([text], [{}], Scratch())).all()


def test_settings() -> None:
    assert from_json(C4Lines, to_json(RULES[1])) == RULES[1]
    wrong: list[dict[str, Any]] = [{"end_marks": "。"}, {"phrases": ("Upper",)}]
    for settings in wrong:
        with pytest.raises(ConfigError, match="ASCII"):
            C4Lines(**settings)
