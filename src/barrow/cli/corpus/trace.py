"""`barrow corpus trace`: the provenance of one document."""

from __future__ import annotations

from typing import Annotated

import typer

from barrow.cli.options import AsJson, Source
from barrow.cli.terminal import printable


def trace(
    path: Source,
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOC", help="Its id, its record's own id, or its number.", show_default=False
        ),
    ],
    is_id: Annotated[
        bool, typer.Option("--id", help="DOC is an id, also if it is digits.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print where a document came from, and what each stage decided about it."""
    import msgspec

    from barrow.corpus.trace import find_document

    found = find_document(path, document, is_id=is_id)
    story = {"shard": found.shard, "frame": found.frame, "number": found.number}
    story |= found.document.meta
    if found.cluster:
        story["cluster"] = found.cluster
    story["bytes"] = len(found.document.text.encode())
    if as_json:
        typer.echo(msgspec.json.encode({**story, "text": found.document.text}).decode())
        return
    width = max(len(key) for key in story)
    for key, value in story.items():
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        typer.echo(f"{key:<{width}}  {printable(shown)}")
    typer.echo("")
    typer.echo(printable(found.document.text[:1000]))
