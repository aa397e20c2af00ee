"""`barrow score self-test`: two tables, of checks passed and of mistakes found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from barrow.cli.terminal import print_table

if TYPE_CHECKING:
    from barrow.score.conformance.self_test import SelfTest


def self_test() -> None:
    """Check the scorer itself, and that known mistakes would be found. Exits 1 if not."""
    from rich.console import Console

    from barrow.score.conformance.self_test import self_test as check

    with Console(stderr=True).status("Checking the scorer, and planting mistakes in it"):
        found = check()
    print_self_test(found)
    raise typer.Exit(0 if found.passed else 1)


def print_self_test(found: SelfTest) -> None:
    """The tables, and what they come to."""
    columns = ("check", "claim", "", "numbers")
    print_table(
        columns,
        (
            (
                checked.check.name,
                checked.check.claim,
                "passed" if checked.verdict.passed else "FAILED",
                checked.verdict.numbers,
            )
            for checked in found.checked
        ),
        left=columns,
        width=160,
    )
    typer.echo()
    columns = ("mistake planted", "found by", "also by", "numbers")
    print_table(
        columns,
        (
            (
                sought.mistake.name,
                sought.found_by[0] if sought.found_by else "NOT FOUND",
                _others(sought.found_by),
                sought.numbers,
            )
            for sought in found.sought
        ),
        left=columns,
        width=160,
    )
    passed = sum(checked.verdict.passed for checked in found.checked)
    seen = sum(bool(sought.found_by) for sought in found.sought)
    typer.echo(
        f"\n{passed} of {len(found.checked)} checks passed, "
        f"{seen} of {len(found.sought)} planted mistakes found"
    )


def _others(names: tuple[str, ...]) -> str:
    more = len(names) - 1
    return "" if more < 1 else f"{more} other{'s' if more > 1 else ''}"
