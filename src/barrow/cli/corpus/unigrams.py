"""`barrow corpus unigrams`: a table of words and their counts, for the filter `Unigrams`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.options import Source
from barrow.files import local_path


def unigrams(
    path: Source,
    out: Annotated[Path, typer.Option(metavar="TABLE.tsv", help="The table.", show_default=False)],
    min_count: Annotated[int, typer.Option(min=1, help="Leave out rarer words.")] = 1,
) -> None:
    """Count the words of a corpus: a line `word<tab>count` for each, the most frequent first."""
    from barrow.corpus import count_unigrams

    number = count_unigrams(path, local_path(out), min_count=min_count)
    typer.echo(f"{out}: {number:,} words")
