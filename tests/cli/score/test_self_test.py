from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from barrow.cli.score.self_test import print_self_test
from barrow.score.conformance import self_test as module
from barrow.score.conformance.check import Check, Verdict
from barrow.score.conformance.mutants import Mistake, mistakes
from barrow.score.conformance.self_test import Checked, SelfTest, Sought, self_test
from barrow.score.conformance.totals import totals_checks


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks of sums alone, and the mistakes that they are for."""
    planted = [mistake for mistake in mistakes() if mistake.found_by == "plain sums"]
    monkeypatch.setattr(
        module, "self_test", lambda: self_test(checks=totals_checks(), apart=(), planted=planted)
    )


def test_two_tables_without_a_model_or_a_corpus(barrow: Callable[..., Any], quick: None) -> None:
    code, out, err = barrow("score", "self-test")
    assert (code, err) == (0, "")
    first, second, last = out.split("\n\n")
    assert [line.split("  ")[0] for line in first.splitlines()] == [
        *("check", "uniform bytes", "plain sums", "Markov source")
    ]
    assert all("passed" in line for line in first.splitlines()[1:])
    assert "8.0000, off by" in first
    lines = second.splitlines()
    assert lines[1].startswith("mean of batches' ratios")
    assert "plain sums" in lines[1]
    assert last == "3 of 3 checks passed, 2 of 2 planted mistakes found\n"


@pytest.mark.soak
def test_all_of_it(barrow: Callable[..., Any]) -> None:
    code, out, _ = barrow("score", "self-test")
    assert code == 0
    assert out.endswith("18 of 18 checks passed, 12 of 12 planted mistakes found\n")


def nothing(*_: Any) -> Any:
    raise AssertionError


CHECK = Check("sums", "they add up", nothing)
MISTAKE = Mistake("a mistake", "sums", nothing)
PASSED = Checked(CHECK, Verdict(True, "1 of 1"))
FAILED = Checked(CHECK, Verdict(False, "2 of\x1b[31m 1"))
FOUND = Sought(MISTAKE, ("sums", "order", "groups"), "3 of 1")
MISSED = replace(FOUND, found_by=(), numbers="")


@pytest.mark.parametrize(
    ("result", "code", "words"),
    [
        (SelfTest((PASSED,), (FOUND,)), 0, ["passed", "2 others", "1 of 1 planted mistakes found"]),
        (SelfTest((PASSED, FAILED), (FOUND,)), 1, ["FAILED", "1 of 2 checks passed"]),
        (SelfTest((PASSED,), (FOUND, MISSED)), 1, ["NOT FOUND", "1 of 2 planted mistakes found"]),
    ],
)
def test_it_fails_for_a_check_that_fails_or_a_mistake_that_hides(
    barrow: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    result: SelfTest,
    code: int,
    words: list[str],
) -> None:
    monkeypatch.setattr(module, "self_test", lambda: result)
    found = barrow("score", "self-test")
    assert found.code == code
    assert [word for word in words if word not in found.out] == []
    assert "\x1b" not in found.out


def test_a_single_other_check(capsys: pytest.CaptureFixture[str]) -> None:
    print_self_test(SelfTest((), (replace(FOUND, found_by=("sums", "order")),)))
    assert "1 other " in capsys.readouterr().out


def test_without_it_a_model_is_needed(barrow: Callable[..., Any]) -> None:
    code, _, err = barrow("score")
    assert code == 2
    assert "MODEL" in err
