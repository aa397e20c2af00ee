"""`barrow score diff`: where, and how surely, one model loses to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.score.diff import Comparison, Difference


def diff(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="A result: the folder that `score` wrote.", show_default=False
        ),
    ],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="Another, of the same text.", show_default=False)
    ],
    worst: Annotated[int, typer.Option(help="Show this many documents.", min=0)] = 5,
    as_json: AsJson = False,
) -> None:
    """Where A loses to B, by domain and by kind of text."""
    from barrow.config import to_json
    from barrow.score.diff import compare, read_scored

    found = compare(read_scored(first), read_scored(second), num_worst=worst)
    if as_json:
        typer.echo(to_json(found), nl=False)
        return
    _show(found)


def _show(found: Comparison) -> None:
    a, b = printable(found.first), printable(found.second)
    typer.echo(
        f"A is {a}, B is {b}; bits per byte, A − B above 0 where A loses; fewer "
        "bits are settled (p ≤ 0.05) or not (=)"
    )
    if found.note:
        typer.echo(printable(found.note))
    _print_rows("domain", (*found.domains, found.overall))
    if found.kinds:
        typer.echo()
        _print_rows("kind of text", found.kinds)
    if found.worst:
        typer.echo("\ndocuments where A loses most:")
    for entry in found.worst:
        typer.echo(
            f"{entry.lost_bits:>12,.0f} bits  {entry.first:.4f} against {entry.second:.4f}  "
            f"{entry.bytes:,} bytes, {printable(entry.domain)}, document {entry.number:,}, "
            f"sha256 {entry.text}…"
        )


def _print_rows(title: str, rows: tuple[Difference, ...]) -> None:
    print_table(
        (
            title,
            "documents",
            "bytes",
            "A",
            "B",
            "A − B",
            "95 % interval",
            "p",
            "fewer",
            "share of A − B",
        ),
        (
            (
                row.name,
                f"{row.documents:,}",
                f"{row.bytes:,}",
                _number(row.first, ".4f"),
                _number(row.second, ".4f"),
                _number(row.difference, "+.4f"),
                "" if row.low is None or row.high is None else f"{row.low:+.4f} to {row.high:+.4f}",
                "" if row.p is None else f"{row.p:.4f}",
                row.better or "=",
                _number(row.share, ".1%"),
            )
            for row in rows
        ),
    )


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
