"""`barrow corpus head`: the first documents, to look at."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from barrow.cli.options import AsJson, OnBad, OnBadChoice, Source, TextKey, open_archive, report_bad
from barrow.cli.terminal import printable


def head(
    path: Source,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, help="How many documents.")] = 5,
    width: Annotated[int, typer.Option(min=0, help="Characters of each text; 0 for all.")] = 400,
    as_json: AsJson = False,
    text_key: TextKey = "text",
    on_bad: OnBad = OnBadChoice.RAISE,
) -> None:
    """Show the first documents: their meta, and the beginning of their text."""
    import msgspec

    archive = open_archive(path, text_key=text_key, on_bad=on_bad)
    for number, document in enumerate(islice(archive, limit)):
        if as_json:
            typer.echo(msgspec.json.encode(document))
            continue
        text = document.text
        size = len(text.encode())
        shown = text if not width or len(text) <= width else text[:width].rstrip() + " …"
        meta = printable(msgspec.json.encode(document.meta).decode())
        typer.secho(f"── document {number} · {size:,} bytes · {meta}", bold=True)
        typer.echo(printable(shown))
    report_bad(archive.bad)
