"""`barrow demo`: raw text to a scored model, small, on text every machine has."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.board import write_board
from barrow.cli.build import print_report
from barrow.cli.corpus.stats import measure, print_composition
from barrow.cli.progress import progress_bar, staged_progress
from barrow.cli.score.table import cautions
from barrow.cli.terminal import print_table, printable
from barrow.cli.tokens.tokenize import print_store
from barrow.files import local_path

if TYPE_CHECKING:
    from barrow.score import Result
    from barrow.score.standing import Standing


_MEGABYTES = 6.0


def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything.")] = Path("demo"),
    steps: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 320,
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
        ("corpus", "rejects", str(corpus)),
        ("build", "refine", "--source", "YOUR.jsonl", "--out", "corpus"),
    ):
        typer.echo(f"  {shlex.join(('barrow', *command))}")


@contextmanager
def _timed(what: str, where: Path) -> Iterator[None]:
    started = time.perf_counter()
    yield
    typer.echo(f"{what} in {time.perf_counter() - started:.1f} s → {where}\n")


# What ours needs beside another, as the sign of the other's figure.
_SIGNS = {"fewer bits": "+", "more bits": "-", "not settled": "=", "not comparable": " "}


def print_scores(results: Sequence[Result]) -> None:
    """Bits per byte by domain and model, ours first, and how ours compares with the others."""
    from barrow.score.standing import standings

    beside, ours = standings(results), results[0]
    rows = [
        (
            name or "overall",
            *(_cell(k, result, beside[name], name) for k, result in enumerate(results)),
        )
        for name in (*(row.name for row in ours.domains), None)
    ]
    print_table(("bits per byte", *(result.model.name for result in results)), rows, width=130)
    typer.echo(
        f"beside {printable(ours.model.name)}: + needs more, - fewer, = not settled by a paired "
        "bootstrap over documents; without a sign not comparable\n"
    )
    print_table(
        (f"{ours.model.name} less", "bits per byte", "95 % interval", "it needs"),
        [_compared(ours, other, beside[None], k) for k, other in enumerate(results) if k],
        left=(f"{ours.model.name} less", "it needs"),
        width=130,
    )


def _cell(place: int, result: Result, standing: Standing, name: str | None) -> str:
    """A figure and its sign; a dash where there is none."""
    rows = (result.overall,) if name is None else result.domains
    found = next((row.bpb for row in rows if name in (None, row.name)), None)
    sign = f" {_SIGNS[standing.verdict(0, place)]}" if place else ""
    return "–" if found is None else f"{found:.3f}{sign}"


def _compared(ours: Result, other: Result, standing: Standing, place: int) -> tuple[str, ...]:
    from barrow.score.card import comparable

    verdict = standing.verdict(0, place)
    reason = comparable(ours.card, other.card)
    difference, low, high = (float(part[0, place]) for part in standing[:3])
    return (
        other.model.name,
        "" if reason else f"{difference:+.4f}",
        "" if math.isnan(low) else f"{low:+.4f} to {high:+.4f}",
        f"{verdict}: {reason}" if reason else verdict,
    )
