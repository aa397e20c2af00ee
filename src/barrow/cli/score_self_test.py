"""`barrow score --self-test`: two tables, of checks passed and of mistakes found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from barrow.cli.terminal import printable

if TYPE_CHECKING:
    from rich.table import Table

    from barrow.score.self_test import SelfTest


def run_self_test(asked: bool) -> None:
    """Run it if it is asked for, and end the program: 1 if a check failed or a mistake hid."""
    if not asked:
        return
    from rich.console import Console

    from barrow.score.self_test import self_test

    with Console(stderr=True).status("Checking the scorer, and planting mistakes in it"):
        found = self_test()
    print_self_test(found)
    raise typer.Exit(0 if found.passed else 1)


def print_self_test(found: SelfTest) -> None:
    """The tables, and what they come to."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    checks = _table("check", "claim", "", "numbers")
    for checked in found.checked:
        told = "passed" if checked.verdict.passed else "FAILED"
        _add(checks, checked.check.name, checked.check.claim, told, checked.verdict.numbers)
    console.print(checks)
    typer.echo()
    planted = _table("mistake planted", "found by", "also by", "numbers")
    for sought in found.sought:
        first = sought.found_by[0] if sought.found_by else "NOT FOUND"
        _add(planted, sought.mistake.name, first, _others(sought.found_by), sought.numbers)
    console.print(planted)
    passed = sum(checked.verdict.passed for checked in found.checked)
    seen = sum(bool(sought.found_by) for sought in found.sought)
    typer.echo(
        f"\n{passed} of {len(found.checked)} checks passed, "
        f"{seen} of {len(found.sought)} planted mistakes found"
    )


def _others(names: tuple[str, ...]) -> str:
    more = len(names) - 1
    return "" if more < 1 else f"{more} other{'s' if more > 1 else ''}"


def _table(*names: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _add(table: Table, *cells: str) -> None:
    from rich.text import Text

    table.add_row(*(Text(printable(cell)) for cell in cells))
