"""`barrow corpus pack`: any files of records to an archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.options import (
    AsJson,
    OnBad,
    OnBadChoice,
    Rejects,
    TextKey,
    open_archive,
    report_bad,
)
from barrow.cli.progress import progress_bar


def pack(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…", help="Files, folders, globs or URLs to read.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="A folder, or one shard NAME.jsonl.zst.", show_default=False),
    ],
    text_key: TextKey = "text",
    level: Annotated[int, typer.Option(help="zstandard level.")] = 3,
    shard_size: Annotated[
        int, typer.Option(min=1, help="Bytes of JSON lines in a shard of a folder.")
    ] = 1 << 29,
    append: Annotated[bool, typer.Option("--append", help="Add to an archive.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace one shard.")] = False,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads that compress; 0 for one per core.")
    ] = 0,
    on_bad: OnBad = OnBadChoice.RAISE,
    rejects: Rejects = None,
    as_json: AsJson = False,
) -> None:
    """Read .jsonl, .jsonl.zst, .jsonl.gz, .json or .parquet and write an archive."""
    from barrow.ahead import available_cores
    from barrow.archive import Writer

    archive = open_archive(inputs, text_key=text_key, on_bad=on_bad, rejects=rejects)
    writer = Writer(
        out,
        level=level,
        shard_size=shard_size,
        append=append,
        overwrite=overwrite,
        threads=threads or available_cores(),
    )
    with progress_bar("Packing", None) as advance, writer:
        for document in archive:
            writer.add(document)
            advance(len(document.text))
    if as_json:
        import msgspec

        summary = {
            "out": str(out),
            "documents": writer.num_documents,
            "bad": dict(archive.bad.counts),
        }
        typer.echo(msgspec.json.encode(summary).decode())
    else:
        typer.echo(f"{writer.num_documents:,} documents → {out}")
        report_bad(archive.bad)
