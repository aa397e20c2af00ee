from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import pytest
from tests.parallel.several_processes import xla_flags

from barrow.archive import Document
from barrow.score.conformance.bytes import bytes_checks
from barrow.score.conformance.check import Check, Verdict, barrow_scorer
from barrow.score.conformance.mutants import Mistake, mistakes
from barrow.score.conformance.self_test import self_test
from barrow.score.conformance.totals import totals_checks
from barrow.score.conformance.windows import windows_checks
from barrow.score.result import Result

MISTAKES = mistakes()
# All but those of the decoder, which have to be compiled.
QUICK = (*totals_checks(), *windows_checks(), *bytes_checks())


def test_every_check_passes() -> None:
    """PILE-2: on the eight devices that tests have."""
    found = self_test(planted=())
    assert [c.check.name for c in found.checked if not c.verdict.passed] == []
    numbers = {checked.check.name: checked.verdict.numbers for checked in found.checked}
    assert len(numbers) == len(found.checked) == 18
    assert numbers["uniform bytes"].startswith("8.0000, off by ")
    assert numbers["devices"].startswith(f"1 beside {len(jax.local_devices())}, ")
    assert len(jax.local_devices()) == 8
    assert found.passed


def test_every_mistake_is_found_by_the_check_made_for_it() -> None:
    found = self_test(checks=QUICK, apart=())
    assert {sought.mistake.name: sought.found_by[:1] for sought in found.sought} == {
        mistake.name: (mistake.found_by,) for mistake in MISTAKES
    }
    assert all(sought.numbers for sought in found.sought)


def blind(check: Check) -> Check:
    return replace(check, run=lambda scorer: Verdict(True, "looked away"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_check_that_always_passes_finds_nothing(mistake: Mistake) -> None:
    own = [blind(check) for check in QUICK if check.name == mistake.found_by]
    result = self_test(checks=own, apart=(), planted=[mistake])
    assert len(result.checked) == 1
    assert result.checked[0].verdict.passed
    assert result.sought[0].found_by == ()
    assert not result.passed


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_scorer_that_has_the_mistake_does_not_pass(mistake: Mistake) -> None:
    own = [check for check in QUICK if check.name == mistake.found_by]
    assert self_test(checks=own, apart=(), planted=()).passed
    assert not self_test(mistake.plant(barrow_scorer), checks=own, apart=(), planted=()).passed


def test_checks_apart_count_and_nothing_is_planted_there() -> None:
    runs = []

    def run(scorer: Any) -> Verdict:
        runs.append(scorer)
        return Verdict(False, "no")

    apart = [Check("apart", "claim", run)]
    result = self_test(checks=QUICK[:1], apart=apart, planted=MISTAKES[:1])
    assert [checked.check.name for checked in result.checked] == [QUICK[0].name, "apart"]
    assert runs == [barrow_scorer]
    assert not result.passed


def test_an_error_is_a_check_that_failed() -> None:
    def broken(model: Any, protocol: Any, documents: Sequence[Document], **how: Any) -> Result:
        raise ZeroDivisionError("no bytes")

    result = self_test(broken, checks=QUICK, apart=(), planted=())
    assert {checked.verdict.numbers for checked in result.checked} == {
        "ZeroDivisionError: no bytes"
    }


def test_it_needs_no_pytorch_and_no_network() -> None:
    program = """
import socket, sys
sys.modules["torch"] = sys.modules["transformers"] = None
def refuse(*_): raise AssertionError("the network")
socket.socket.connect = refuse
from barrow.score.conformance.self_test import self_test
assert self_test(planted=()).passed
"""
    environment = {**os.environ, "XLA_FLAGS": xla_flags(1)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
