"""`barrow demo`: raw text to a scored model, small, on text every machine has."""

from __future__ import annotations

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


def print_scores(results: Sequence[Result]) -> None:
    """Bits per byte by domain and model, ours first, and a line on what it beats."""
    rows = [
        (row.name, *(_of(result, row.name) for result in results)) for row in results[0].domains
    ]
    rows.append(("overall", *(f"{result.overall.bpb:.3f}" for result in results)))
    print_table(("bits per byte", *(result.model.name for result in results)), rows, width=130)
    typer.echo(printable(verdict(results)))


def verdict(results: Sequence[Result]) -> str:
    """Which of the others the first is below, overall, in words."""
    ours, others = results[0], results[1:]
    assert ours.overall.bpb is not None
    below = [r.model.name for r in others if (r.overall.bpb or 0.0) > ours.overall.bpb]
    above = [r.model.name for r in others if r.model.name not in below]
    text = f"the model needs {ours.overall.bpb:.3f} bits for a byte it has not seen: "
    text += f"fewer than {', '.join(below)}" if below else "more than all others"
    if below and above:
        text += f"; not fewer than {', '.join(above)}"
    return text


def _of(result: Result, domain: str) -> str:
    """A domain's figure; a dash where there is none."""
    found = next((row.bpb for row in result.domains if row.name == domain), None)
    return "–" if found is None else f"{found:.3f}"
