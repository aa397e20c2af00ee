"""Shares of kinds of characters (PILE-8)."""

from __future__ import annotations

import pytest

from barrow.config import from_json, to_json
from barrow.corpus.filters.ratios import Ratios
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

TEXTS = ["letters", "a1234", "ABCD efgh ij", "#! --- $$ abc", ""]


def reasons_of(rules: Ratios) -> list[str | None]:
    decisions = rules.decide(Texts.of_strings(TEXTS, [{}] * len(TEXTS), Scratch()))
    return [rules.reasons[code - 1] if code else None for code in decisions.code.tolist()]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Ratios(min_letters=0.5), [None, "too-few-letters", None, *["too-few-letters"] * 2]),
        (Ratios(max_digits=0.5), [None, "too-many-digits", None, None, None]),
        (Ratios(max_capitals=0.3), [None, None, "too-many-capitals", None, None]),
        (Ratios(max_capitals=0.4), [None] * 5),
        (Ratios(max_symbols=0.5), [None, None, None, "too-many-symbols", None]),
        (Ratios(0.1, 0.9, 0.9, 0.5), [None, None, None, "too-many-symbols", "too-few-letters"]),
    ],
)
def test_reasons(rules: Ratios, expected: list[str | None]) -> None:
    assert reasons_of(rules) == expected
    assert from_json(Ratios, to_json(rules)) == rules


def test_causes() -> None:
    rules = Ratios(0.5, 0.25, 0.3, 0.2)
    decisions = rules.decide(Texts.of_strings(["a1234"], [{}], Scratch()))
    assert rules.cause(rules.reasons[0], decisions.value[0]) == "20.0% letters, fewer than 50.0%"
    assert rules.cause("too-many-digits", 0.8) == "80.0% digits, more than 25.0%"
    assert rules.cause("too-many-capitals", 0.8) == "80.0% capitals, more than 30.0%"
    assert rules.cause("too-many-symbols", 0.8) == "80.0% symbols, more than 20.0%"


def test_nothing_set() -> None:
    with pytest.raises(ConfigError, match="set one of min_letters, max_digits"):
        Ratios()
