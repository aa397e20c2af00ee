"""`barrow corpus cat`: documents as JSON lines, or their texts."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from barrow.cli.options import (
    OnBad,
    OnBadChoice,
    Rejects,
    Source,
    TextKey,
    open_archive,
    report_bad,
)
from barrow.cli.progress import progress_bar


def cat(
    path: Source,
    documents: Annotated[
        str, typer.Option("--documents", "-d", metavar="A:B", help="Only documents A to B.")
    ] = ":",
    text_only: Annotated[
        bool, typer.Option("--text", help="Write the texts alone, a line break after each.")
    ] = False,
    text_key: TextKey = "text",
    on_bad: OnBad = OnBadChoice.RAISE,
    rejects: Rejects = None,
) -> None:
    """Write documents to standard output, as JSON lines."""
    import msgspec

    archive = open_archive(path, text_key=text_key, on_bad=on_bad, rejects=rejects)
    part = _range(documents)
    chosen = archive if part == slice(None) else archive[part]
    out = sys.stdout.buffer
    encoder = msgspec.json.Encoder()
    # A bar would mix with the output on the same terminal.
    bar = nullcontext(_no_bar) if sys.stdout.isatty() else progress_bar("Writing", None)
    with bar as advance:
        for document in chosen:
            line = document.text.encode() if text_only else encoder.encode(document)
            out.write(line)
            out.write(b"\n")
            advance(len(line) + 1)
        out.flush()
    report_bad(chosen.bad)


def _no_bar(num_bytes: int) -> None:
    del num_bytes


def _range(text: str) -> slice:
    """`A:B`, `A:`, `:B`, or one number."""
    first, colon, last = text.partition(":")
    try:
        if not colon:
            number = int(first)
            return slice(number, number + 1 or None)
        return slice(int(first) if first else None, int(last) if last else None)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a range of documents, such as 10:20") from None
