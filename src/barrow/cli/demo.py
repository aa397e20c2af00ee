"""`barrow demo`: raw text to a scored model, small, on text every machine has."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.board import write_board
from barrow.cli.build import print_report
from barrow.cli.demo_table import print_scores
from barrow.cli.progress import progress_bar, staged_progress
from barrow.cli.score_table import cautions
from barrow.cli.stats import measure, print_composition
from barrow.cli.terminal import printable
from barrow.cli.tokenize import print_store
from barrow.files import local_path

_MEGABYTES = 6.0


def demo(
    out: Annotated[Path, typer.Argument(help="Folder for everything.")] = Path("demo"),
    steps: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 350,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Score only so many documents of the test split.")
    ] = None,
    megabytes: Annotated[
        float, typer.Option(min=0.1, max=_MEGABYTES, help="Raw text to take, about.")
    ] = _MEGABYTES,
) -> None:
    """Build a corpus of eight domains, train a small model on it, and score it beside baselines."""
    import barrow.archive
    from barrow.demo import pipeline, pocket
    from barrow.train.trackers import terminal

    if local_path(out).exists() and (
        strange := sorted({p.name for p in out.iterdir()} - {*pipeline.PARTS})
    ):
        raise FileExistsError(
            f"{out} holds {strange[0]!r}, which the demo did not make; name another place"
        )
    corpus, run, scores = out / "corpus", out / "run", out / "scores"
    with _timed("corpus built and verified", corpus):
        for folder, why in pocket.prepare(out / "raw", share=megabytes / _MEGABYTES).items():
            typer.echo(f"without {folder}: too little text ({why})")
        print_report(pipeline.build(out, staged_progress))
        typer.echo("")
        print_composition(measure(barrow.archive.open(corpus)))
    with _timed("tokenizer trained and corpus tokenized", out / "tokens"):
        print_store(pipeline.tokenize(out, staged_progress), as_json=False)
    with _timed("model trained", run):
        pipeline.train(out, steps=steps, trackers=[terminal(sys.stderr)])
    with _timed("test split scored", scores):
        results = pipeline.score(out, limit=limit, shown=lambda what: progress_bar(what, None))
    print_scores(results)
    for line in cautions(results[0]):
        typer.echo(printable(line))
    write_board([scores], out / "board.html")
    typer.echo(f"{corpus / 'report.html'}\n\nNext:")
    for command in (
        ("generate", str(run), "--prompt", "The", "--temperature", "0.8"),
        ("rejects", str(corpus)),
        ("build", "refine", "source=YOUR.jsonl", "out=corpus"),
    ):
        typer.echo(f"  {shlex.join(('barrow', *command))}")


@contextmanager
def _timed(what: str, where: Path) -> Iterator[None]:
    started = time.perf_counter()
    yield
    typer.echo(f"{what} in {time.perf_counter() - started:.1f} s → {where}\n")
