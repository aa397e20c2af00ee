"""`barrow demo`: the main job, small, on text every machine has."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.stats import measure, print_composition


def demo(
    out: Annotated[
        Path, typer.Argument(help="Folder to make; an earlier demo is replaced.")
    ] = Path("build/pocket"),
) -> None:
    """Make a small archive of several domains and print what it is made of."""
    import barrow.archive
    from barrow.archive import Writer
    from barrow.recipes import pocket

    if out.exists():
        if not (out / "archive.json").exists():
            raise FileExistsError(f"{out} exists and is no archive; name another folder")
        shutil.rmtree(out)
    started = time.perf_counter()
    with Writer(out, threads=2) as writer:
        writer.extend(pocket.documents())
    result = barrow.archive.verify(out, deep=True)
    for problem in result.problems:
        raise problem
    print_composition(measure(barrow.archive.open(out)))
    seconds = time.perf_counter() - started
    typer.echo(
        f"{result.num_documents:,} documents written and verified in {seconds:.1f} s → {out}"
    )
    typer.echo(f"Next: barrow head {out}   ·   zstd -dc {out}/*.jsonl.zst | head -1")
