"""`barrow corpus diff`: what changed between two builds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import printable


def diff(
    before: Annotated[Path, typer.Argument(help="A corpus.", show_default=False)],
    after: Annotated[Path, typer.Argument(help="Another.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Compare two builds: recipes, and documents and rejects by domain."""
    import msgspec

    from barrow.corpus.diff import compare_builds

    result = compare_builds(before, after)
    if as_json:
        typer.echo(msgspec.json.encode(result).decode())
        return
    for line in result["recipe"]:
        typer.echo(printable(f"recipe: {line}"))
    for name, counts in result["domains"].items():
        typer.echo(
            printable(name)
            + f": {counts['kept']:,} kept, {counts['added']:,} added, {counts['removed']:,} removed"
            + "".join(
                f"; {reason} {change:+,}" for reason, change in counts["rejects"].items() if change
            )
        )
    if not result["recipe"] and not any(
        counts["added"] or counts["removed"] or any(counts["rejects"].values())
        for counts in result["domains"].values()
    ):
        typer.echo("no difference")
