"""C4's rules for documents (PILE-8)."""

from __future__ import annotations

from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

PROSE = "One is here. Two is here. Three is here. Four is here. Five is here."


def reasons_of(rules: C4, *texts: str) -> list[str | None]:
    decisions = rules.decide(Texts.of_strings(texts, [{}] * len(texts), Scratch()))
    return [rules.reasons[code - 1] if code else None for code in decisions.code.tolist()]


def test_reasons() -> None:
    assert reasons_of(
        C4(), PROSE, PROSE + " Lorem Ipsum.", PROSE + " f() {", "One. Two. Three. Four.", ""
    ) == [
        None,
        "c4-lorem-ipsum",
        "c4-curly-bracket",
        "c4-too-few-sentences",
        "c4-too-few-sentences",
    ]


def test_switched_off() -> None:
    rules = C4(lorem_ipsum=True, curly_bracket=True, min_sentences=0)
    assert reasons_of(rules, "lorem ipsum {", "") == [None, None]
    assert reasons_of(C4(lorem_ipsum=True), PROSE + " lorem ipsum") == [None]
    assert reasons_of(C4(curly_bracket=True), PROSE + " {") == [None]


def test_causes() -> None:
    decisions = C4().decide(Texts.of_strings(["One. Two."], [{}], Scratch()))
    assert C4().cause("c4-too-few-sentences", decisions.value[0]) == "2 sentences, fewer than 5"
    assert C4().cause("c4-curly-bracket", 7.0) == "7 curly brackets"
    assert C4().cause("c4-lorem-ipsum", 1.0) == "has lorem ipsum"
