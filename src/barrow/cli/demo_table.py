"""Results side by side: a row for each domain, a column for each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.score import Result


def print_scores(results: Sequence[Result]) -> None:
    """Bits per byte by domain and model; the first is ours, and a last line tells what it beats."""
    rows = [
        (row.name, *(_of(result, row.name) for result in results)) for row in results[0].domains
    ]
    rows.append(("overall", *(f"{result.overall.bpb:.3f}" for result in results)))
    print_table(("bits per byte", *(result.model.name for result in results)), rows, width=130)
    typer.echo(printable(verdict(results)))


def verdict(results: Sequence[Result]) -> str:
    """Which of the others the first is below, overall, in words."""
    ours, others = results[0], results[1:]
    assert ours.overall.bpb is not None
    below = [r.model.name for r in others if (r.overall.bpb or 0.0) > ours.overall.bpb]
    above = [r.model.name for r in others if r.model.name not in below]
    told = f"the model needs {ours.overall.bpb:.3f} bits for a byte it has not seen: "
    told += f"fewer than {', '.join(below)}" if below else "more than all others"
    if below and above:
        told += f"; not fewer than {', '.join(above)}"
    return told


def _of(result: Result, domain: str) -> str:
    """A domain's figure; a dash where there is none."""
    found = next((row.bpb for row in result.domains if row.name == domain), None)
    return "–" if found is None else f"{found:.3f}"
