"""Regular expressions over texts (PILE-8)."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.pattern import Pattern
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError, MissingExtra

TEXTS = ["one", "cat", "cat, cat", "a cat and a cat and a Cat", "", "Straße 5"]


def reasons_of(rules: Pattern, texts: list[str] = TEXTS) -> list[str | None]:
    decisions = rules.decide(Texts.of_strings(texts, [{}] * len(texts), Scratch()))
    return [rules.reasons[code - 1] if code else None for code in decisions.code.tolist()]


@pytest.mark.parametrize(
    ("rules", "rejected"),
    [
        (Pattern("cat"), [1, 2, 3]),
        (Pattern("(?i)cat", max_matches=2), [3]),
        (Pattern("cat", max_matches=2), []),
        (Pattern("cat", max_matches=None, min_matches=1), [0, 4, 5]),
        (Pattern("cat", max_matches=None, min_matches=2), [0, 1, 4, 5]),
        (Pattern("cat", max_matches=1, min_matches=1), [0, 2, 3, 4, 5]),
        (Pattern(r"\pL+ß\pL", name="sharp"), [5]),
        (Pattern("^$"), [4]),
    ],
)
def test_what_is_rejected(rules: Pattern, rejected: list[int]) -> None:
    found = reasons_of(rules)
    assert [i for i, reason in enumerate(found) if reason] == rejected
    assert from_json(Pattern, to_json(rules)) == rules


@given(
    st.sampled_from(["a", "a+", "ab|b", "[^a]b", "^a", "a$", "(ab)+", "é.", r"a\.b", "(?i)B"]),
    st.lists(st.text("aAbBé.\n ", max_size=12), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_as_the_standard_library_counts(pattern: str, texts: list[str], most: int) -> None:
    counts = [len(re.findall(pattern, text)) for text in texts]
    if "$" not in pattern:  # Python's also matches before a last newline
        assert [r is not None for r in reasons_of(Pattern(pattern), texts)] == [
            n > 0 for n in counts
        ]
        many = reasons_of(Pattern(pattern, max_matches=most), texts)
        assert [r is not None for r in many] == [n > most for n in counts]


def test_texts_of_a_block_that_does_not_begin_at_0() -> None:
    texts = Texts.of_strings(["a cat", "no", "cat"], [{}] * 3, Scratch())
    part = Texts(texts.text, texts.offsets[1:], texts.metas[1:], Scratch())
    assert Pattern("cat").decide(part).code.tolist() == [0, 1]


def test_causes() -> None:
    assert Pattern("cat").cause("pattern-found", 1) == "matches 'cat'"
    few = Pattern("cat", max_matches=3, min_matches=2, name="cats")
    assert few.reasons == ("cats-found", "cats-missing")
    assert few.cause("cats-found", 1234) == "1,234 matches of 'cat', more than 3"
    assert few.cause("cats-missing", 1) == "1 matches of 'cat', fewer than 2"


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a+)+$b", "(a|aa)+b", "(.*a){20}b"])
def test_no_expression_stops_a_build(pattern: str) -> None:
    """A backtracking engine takes 2 ** 10,000 steps; the test's time limit would end it."""
    assert reasons_of(Pattern(pattern), ["a" * 10_000]) == [None]


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "(?<!a)b", "x{2000}", "[z-a]"])
def test_what_is_no_expression(pattern: str) -> None:
    with pytest.raises(ConfigError, match="must be a regular expression of RE2"):
        Pattern(pattern)


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="must be ≥ 0, got -1"):
        Pattern("a", max_matches=-1)
    with pytest.raises(ConfigError, match="everything would be kept; set"):
        Pattern("a", max_matches=None)
    with pytest.raises(ConfigError, match="max_matches must be ≥ min_matches 2, got 0"):
        Pattern("a", min_matches=2)
    with pytest.raises(ConfigError, match="must not be empty"):
        Pattern("")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Pattern("a")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="patterns"):
        reasons_of(rules)
