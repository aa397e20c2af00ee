"""`barrow corpus report`: a corpus as a page to look at, and as a datasheet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    corpus: Annotated[Path, typer.Argument(help="A folder made by build.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write only the report, to this file; without it, datasheet.md and report.html "
            "beside the corpus are rewritten."
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
) -> None:
    """Rewrite the report and the datasheet of a finished corpus."""
    from barrow.corpus.report.datasheet import DATASHEET
    from barrow.corpus.report.page import REPORT
    from barrow.corpus.report.write import read_build, write_papers, write_report
    from barrow.errors import NotFound

    manifest, recipe = read_build(corpus)
    if out is None:
        write_papers(corpus, manifest, recipe)
        written = [corpus / DATASHEET, corpus / REPORT]
    else:
        if not out.parent.is_dir():
            raise NotFound(f"{out.parent} is not a folder to write {out.name} to")
        write_report(corpus, out, manifest, recipe)
        written = [out]
    for path in written:
        typer.echo(path)
    if open_:
        import webbrowser

        webbrowser.open(written[-1].resolve().as_uri())
