"""Each mutant makes its mistake, and no other: seen from outside the checks."""

from __future__ import annotations

import math
from typing import Any

import pytest

from barrow.score.conformance.check import barrow_scorer, documents_of, rows
from barrow.score.conformance.models import BEGIN, END, RuleModel, split_tokenizer, uniform_rule
from barrow.score.conformance.mutants import mistakes
from barrow.score.protocol import PROTOCOLS, Protocol
from barrow.score.result import Result
from barrow.score.windows import windows

MISTAKES = {mistake.name: mistake for mistake in mistakes()}
STRIDED = Protocol("custom", 6, 3, "begin")
TEXTS = ["né", "", "stone by stone", "x"]


class Seen(RuleModel):
    """Keeps the rows that it is given; one nat for every token."""

    def __init__(self, max_length: int | None = None) -> None:
        super().__init__(split_tokenizer(), lambda row, i: 1.0, max_length=max_length)
        self.rows: list[list[int]] = []

    def log_probs(self, rows: Any) -> Any:
        self.rows += [row.tolist() for row in rows]
        return super().log_probs(rows)


def scored(name: str | None, model: Any, protocol: Protocol, texts: list[str]) -> Result:
    scorer = barrow_scorer if name is None else MISTAKES[name].plant(barrow_scorer)
    return scorer(model, protocol, documents_of(texts))


def seen(name: str | None, protocol: Protocol = STRIDED, max_length: int | None = None) -> Any:
    model = Seen(max_length)
    result = scored(name, model, protocol, ["stone by stone"])
    return result, model.rows


def test_the_nine_are_there() -> None:
    """Those of the list, each under the name of one check."""
    assert len(MISTAKES) == 12
    doubles = ("double BOS, one charged", "mean of documents' ratios", "packed rows counted")
    assert len([name for name in MISTAKES if name not in doubles]) == 9


def test_double_prefix() -> None:
    result, found = seen("double BOS")
    right, expected = seen(None)
    assert found == [[BEGIN, *row] for row in expected]
    assert all(row[0] == BEGIN for row in expected)
    # It costs nothing here: one nat a token, whatever is seen.
    assert result.overall.nats == right.overall.nats


def test_a_second_prefix_that_is_charged() -> None:
    right, _ = seen(None)
    # One more in the first window; in later ones it is before what is charged.
    assert seen("double BOS, one charged")[0].overall.nats == right.overall.nats + 1


def test_prefix_in_the_first_window_only() -> None:
    result, found = seen("BOS missing in later windows")
    assert [row[0] == BEGIN for row in found] == [True, *[False] * (len(found) - 1)]
    assert len(found) > 2
    assert result.card.window == STRIDED.window(split_tokenizer(), None)


def test_roles() -> None:
    result, found = seen("EOS for BOS, BOS for EOS")
    assert {row[0] for row in found} == {END}
    assert result.card.window.prefix == "begin"


def test_windows_of_the_models_length() -> None:
    result, found = seen("stride by the model's length", max_length=10)
    assert len(found[0]) == 11
    assert (result.card.window.context, result.card.window.stride) == (6, 3)
    expected = windows(14, Protocol("custom", 10, 5, "begin").window(split_tokenizer(), 10))
    assert len(found) == len(expected)
    disjoint = Protocol("custom", 6, None, "begin")
    _, found = seen("stride by the model's length", disjoint, max_length=10)
    assert len(found) == 2
    # A model that sees any number has no length to follow.
    assert seen("stride by the model's length")[1] == seen(None)[1]


def test_means() -> None:
    rule = lambda row, i: 1.0 if row[i] == row[i - 1] else 3.0  # noqa: E731
    model = RuleModel(split_tokenizer(), rule)
    texts = ["xxxxxxxxx", "b", "", "cd", "xxxx"]
    alone = [scored(None, model, STRIDED, [text]).overall.bpb for text in texts if text]
    result = scored("mean of documents' ratios", model, STRIDED, texts)
    assert result.overall.bpb == pytest.approx(sum(alone) / 4)
    batches = [scored(None, model, STRIDED, part).overall.bpb for part in (texts[:4], texts[4:])]
    result = scored("mean of batches' ratios", model, STRIDED, texts)
    assert result.overall.bpb == pytest.approx(sum(batches) / 2)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        # n, then both halves of é, each U+FFFD.
        ("bytes of decoded tokens", [7, 0, 14, 1]),
        # <s> before each.
        ("bytes with special tokens", [6, 3, 17, 4]),
    ],
)
def test_sizes(name: str, sizes: list[int]) -> None:
    model = RuleModel(split_tokenizer(), uniform_rule(2))
    result = scored(name, model, STRIDED, TEXTS)
    assert rows(result).bytes.tolist() == sizes
    assert result.overall.bytes == result.card.ground.bytes == sum(sizes)
    right = scored(None, model, STRIDED, TEXTS)
    assert result.overall.nats == right.overall.nats
    assert result.overall.bpb == pytest.approx(right.overall.nats / sum(sizes) / math.log(2))


def test_packed_rows() -> None:
    model = RuleModel(split_tokenizer(), uniform_rule(2))
    texts = ["x" * 100, "y" * 30, "z" * 60]
    result = scored("packed rows for documents", model, PROTOCOLS["barrow"], texts)
    # Domain A has 160 characters in rows of 64, B has 30.
    assert rows(result).bytes.tolist() == [64, 64, 32, 30]
    assert result.overall.bytes == 190


def test_rows_that_are_counted() -> None:
    model = RuleModel(split_tokenizer(), uniform_rule(2))
    result = scored("packed rows counted", model, STRIDED, ["stone by stone", "x"])
    assert [row.documents for row in result.domains] == [3, 1]
    assert result.overall.documents == result.card.ground.documents == 3
    assert result.overall.bpb == scored(None, model, STRIDED, ["stone by stone", "x"]).overall.bpb


def test_unshifted() -> None:
    """A model that knows the byte after each byte: shifted it is sure, unshifted never right."""

    def rule(row: Any, i: int) -> float:
        before = ord("a") - 1 if row[i - 1] == BEGIN else row[i - 1]
        return 0.0 if row[i] == before + 1 else 5.0

    model = RuleModel(split_tokenizer(), rule)
    assert scored(None, model, STRIDED, ["abcdefghij"]).overall.nats == 0
    assert scored("logits not shifted", model, STRIDED, ["abcdefghij"]).overall.nats == 50
