"""Conformance: whether scoring is correct here, and whether known mistakes are detected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barrow.score.conformance.bytes import bytes_checks
from barrow.score.conformance.check import Check, Scorer, Verdict, barrow_scorer, verdict
from barrow.score.conformance.compressors import compressors_checks
from barrow.score.conformance.invariance import SmallDecoder, invariance_checks, small_decoder
from barrow.score.conformance.mutants import Mistake, mistakes
from barrow.score.conformance.totals import totals_checks
from barrow.score.conformance.windows import windows_checks


@dataclass(frozen=True)
class Checked:
    """A check and its verdict on the scorer."""

    check: Check
    verdict: Verdict


@dataclass(frozen=True)
class Sought:
    """A planted mistake, the names of the checks that found it, and the numbers of the first.

    The check that was made for it comes first.
    """

    mistake: Mistake
    found_by: tuple[str, ...]
    numbers: str


@dataclass(frozen=True)
class SelfTest:
    """The outcome of all checks and of all planted mistakes."""

    checked: tuple[Checked, ...]
    sought: tuple[Sought, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed and every mistake was found."""
        return all(one.verdict.passed for one in self.checked) and all(
            one.found_by for one in self.sought
        )


def scorer_checks(small: SmallDecoder | None = None) -> tuple[Check, ...]:
    """Every check of a scorer, in the order of the table."""
    small = small_decoder() if small is None else small
    return (*totals_checks(), *windows_checks(), *bytes_checks(), *invariance_checks(small))


def self_test(
    scorer: Scorer = barrow_scorer,
    *,
    checks: Sequence[Check] | None = None,
    apart: Sequence[Check] | None = None,
    planted: Sequence[Mistake] | None = None,
) -> SelfTest:
    """Run every check on a scorer, and on the scorer with each mistake planted in it.

    `checks` are by default all of `scorer_checks`; `apart` are checks of what does not score tokens
    (compressors), where nothing is planted.
    """
    checks = scorer_checks() if checks is None else checks
    apart = compressors_checks() if apart is None else apart
    planted = mistakes() if planted is None else planted
    return SelfTest(
        tuple(Checked(check, verdict(check, scorer)) for check in (*checks, *apart)),
        tuple(_sought(mistake, checks, scorer) for mistake in planted),
    )


def _sought(mistake: Mistake, checks: Sequence[Check], scorer: Scorer) -> Sought:
    mutant = mistake.plant(scorer)
    # Its own first; `sorted` keeps the order of the others.
    ordered = sorted(checks, key=lambda check: check.name != mistake.found_by)
    found = {check.name: verdict(check, mutant) for check in ordered}
    names = tuple(name for name, one in found.items() if not one.passed)
    return Sought(mistake, names, found[names[0]].numbers if names else "")
