"""`barrow demo`: the main job, small, on text every machine has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.build import print_report
from barrow.cli.progress import staged_progress
from barrow.cli.stats import measure, print_composition


def demo(
    out: Annotated[Path, typer.Argument(help="Folder for the corpus.")] = Path("build/pocket"),
) -> None:
    """Build a small corpus of several domains and print what it is made of."""
    import barrow.archive
    from barrow.corpus import build
    from barrow.corpus.progress import Progress
    from barrow.engine import Engine
    from barrow.recipes import pocket

    started = time.perf_counter()
    raw = out.with_name(f"{out.name}-raw")
    pocket.prepare(raw)
    with staged_progress() as (on_plan, on_bytes):
        report = build(
            pocket.recipe(),
            root=raw,
            out=out,
            engine=Engine(num_workers=2),
            progress=Progress(on_plan, on_bytes),
        )
    for problem in barrow.archive.verify(out, deep=True).problems:
        raise problem
    print_report(report)
    typer.echo("")
    print_composition(measure(barrow.archive.open(out)))
    seconds = time.perf_counter() - started
    typer.echo(f"raw files made, read, written and verified in {seconds:.1f} s → {out}")
    typer.echo(f"Next: barrow head {out}   ·   barrow trace {out} 0   ·   barrow rejects {out}")
