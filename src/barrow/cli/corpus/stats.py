"""`barrow corpus stats`: what an archive or a token store is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import (
    AsJson,
    OnBad,
    OnBadChoice,
    Source,
    TextKey,
    is_store,
    open_archive,
    report_bad,
)
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import print_table

if TYPE_CHECKING:
    from barrow.archive import Archive, Composition


def stats(
    path: Source,
    by: Annotated[str, typer.Option(help="Key of meta to group by; dots lead inwards.")] = (
        "pile_set_name"
    ),
    times: Annotated[
        bool, typer.Option("--times", help="Of a corpus: what each stage of its build took.")
    ] = False,
    as_json: AsJson = False,
    text_key: TextKey = "text",
    on_bad: OnBad = OnBadChoice.RAISE,
) -> None:
    """Documents, bytes, means and shares by domain, and the compression ratio.

    Of a token store: documents, tokens, bytes of text and bytes per token by domain.
    """
    if is_store(path):
        import barrow.tokens
        from barrow.cli.tokens.tokenize import print_store

        if by != "pile_set_name":
            raise typer.BadParameter("a token store is grouped by domain only")
        print_store(barrow.tokens.open_store(path), as_json=as_json)
        return
    if times:
        _print_times(Path(path), as_json=as_json)
        return
    archive = open_archive(path, text_key=text_key, on_bad=on_bad)
    result = measure(archive, by)
    if as_json:
        import msgspec

        bad = {"bad": dict(archive.bad.counts)} if len(archive.bad) else {}
        typer.echo(msgspec.json.encode({**result.as_dict(), **bad}).decode())
    else:
        print_composition(result)
        report_bad(archive.bad)


def _print_times(corpus: Path, *, as_json: bool) -> None:
    import json

    from barrow.corpus.times import read_times, table_of

    saved = read_times(corpus)
    if as_json:
        typer.echo(json.dumps(saved))
        return
    columns = ("stage", "tasks", "from cache", "MB", "seconds", "CPU seconds", "MB/s")
    print_table(columns, table_of(saved))
    typer.echo(f"{saved['workers']} workers, engine {saved['engine']}")


def measure(archive: Archive, by: str = "pile_set_name") -> Composition:
    """The composition, with a progress bar."""
    from barrow.archive import composition

    with progress_bar("Reading", None) as advance:
        return composition(archive, by=by, on_progress=advance)


def print_composition(result: Composition) -> None:
    """Print the composition as a table."""
    total = result.total
    rows = [
        (
            share.domain,
            f"{share.documents:,}",
            f"{share.bytes:,}",
            f"{share.mean:,.0f}",
            f"{share.bytes / total.bytes if total.bytes else 0.0:.2%}",
        )
        for share in result.shares
    ]
    figures = (f"{total.documents:,}", f"{total.bytes:,}", f"{total.mean:,.0f}", "100.00%")
    print_table(("domain", "documents", "bytes", "mean", "share"), [*rows, ("total", *figures)])
    typer.echo(
        f"{result.disk_bytes:,} bytes on disk, compression ratio {result.compression_ratio:.2f}"
    )
