"""`barrow demo`: raw text to a scored model, small, on text every machine has."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from barrow.score import Result
    from barrow.tokens import TokenStore

# Enough merges for good tokens of a few megabytes of text, few enough for a small model.
_VOCAB_SIZE = 4096
# What the model is measured against; "whole:" sees all documents of a domain at once.
_BESIDE = ("ngram:5", "xz", "zstd:19", "unigram", "uniform", "whole:xz")
_PARTS = ("raw", "corpus", "tokenizer", "tokens", "held-out", "run", "scores", "board.html")


def demo(
    out: Annotated[Path, typer.Argument(help="Folder for everything.")] = Path("demo"),
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of training.", show_default="the recipe's")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Score only so many held-out documents.")
    ] = None,
) -> None:
    """Build a corpus of many domains, train a small model on it, and score it beside others."""
    if local_path(out).exists() and (
        strange := sorted({p.name for p in out.iterdir()} - {*_PARTS})
    ):
        raise FileExistsError(
            f"{out} holds {strange[0]!r}, which the demo did not make; name another place"
        )
    with _timed("corpus built and verified", out / "corpus"):
        _build(out)
    with _timed("tokenizer learnt and corpus tokenized", out / "tokens"):
        print_store(_tokenize(out), as_json=False)
    with _timed("model trained", out / "run"):
        _train(out, steps)
    with _timed("held-out text scored", out / "scores"):
        results = _score(out, limit)
    print_scores(results)
    for line in cautions(results[0]):
        typer.echo(printable(line))
    write_board([out / "scores"], out / "board.html")
    typer.echo(f"{out / 'corpus' / 'report.html'}")
    typer.echo(
        f"Next: barrow trace {out / 'corpus'} 0   ·   barrow rejects {out / 'corpus'}"
        f"\n      barrow score diff {out / 'scores' / 'model.json'} {out / 'scores' / 'xz.json'}"
        f'\n      barrow generate {out / "run"} --prompt "The"'
        f"   ·   barrow explain {out / 'run'} --step 0"
        f"\n      barrow checkpoint convert {out / 'run'} MODEL --to hf"
        "\n      and then your own text: barrow build --help"
    )


@contextmanager
def _timed(what: str, where: Path) -> Iterator[None]:
    started = time.perf_counter()
    yield
    typer.echo(f"{what} in {time.perf_counter() - started:.1f} s → {where}\n")


def _build(out: Path) -> None:
    import barrow.archive
    from barrow.corpus import build
    from barrow.engine import Engine
    from barrow.recipes import pocket

    left_out = pocket.missing_extras()
    for folder, extra in left_out.items():
        typer.echo(f"without {folder}: its reader needs pip install 'barrow[{extra}]'")
    pocket.prepare(out / "raw", left_out=left_out)
    corpus = out / "corpus"
    with staged_progress() as progress:
        report = build(
            pocket.recipe(left_out=left_out),
            root=out / "raw",
            out=corpus,
            engine=Engine(num_workers=2),
            progress=progress,
        )
    for problem in barrow.archive.verify(corpus, deep=True).problems:
        raise problem
    print_report(report)
    typer.echo("")
    print_composition(measure(barrow.archive.open(corpus)))


def _tokenize(out: Path) -> TokenStore:
    """Stores of the train and validation splits, by a tokenizer learnt from the first."""
    import barrow.archive
    import barrow.tokens
    from barrow.engine import Engine

    archive = barrow.archive.open(out / "corpus")
    sample = barrow.tokens.draw_sample(archive, num_bytes=8_000_000)
    tokenizer = barrow.tokens.train(sample.texts(archive), vocab_size=_VOCAB_SIZE)
    tokenizer.save(out / "tokenizer")
    stores = []
    for split, name in ((".", "tokens"), ("validation", "held-out")):
        with staged_progress() as progress:
            made = barrow.tokens.tokenize(
                out / "corpus" / split,
                tokenizer=tokenizer,
                out=out / name,
                engine=Engine(num_workers=2),
                progress=progress,
            )
        stores.append(made)
    return stores[0]


def _train(out: Path, steps: int | None) -> None:
    from dataclasses import replace

    from barrow.recipes import llama
    from barrow.train import fit, for_store
    from barrow.train.trackers import terminal

    run = llama.tiny() if steps is None else replace(llama.tiny(), steps=steps)
    run = for_store(run, out / "tokens", held_out=out / "held-out")
    fit(run, out / "run", trackers=[terminal(sys.stderr)])


def _score(out: Path, limit: int | None) -> list[Result]:
    """The model and what is beside it, on the test split; each result also as a file."""
    from barrow.score import Opening, open_corpus, open_model, score
    from barrow.score.training_corpus import receipt_or_hint

    corpus, folder = out / "corpus", out / "scores"
    folder.mkdir(exist_ok=True)
    opening = Opening(train=str(corpus), cache=folder / "baselines")
    scored = open_corpus(str(corpus), split="test", limit=limit)
    results = []
    receipt = None
    for name in ("model", *_BESIDE):
        model = open_model(str(out / "run") if name == "model" else name, opening)
        if receipt is None:
            receipt, _ = receipt_or_hint(scored, model.info, str(corpus))
        file = folder / f"{name.replace(':', '-')}.json"
        with progress_bar(f"Scoring {name}", None) as advance:
            result = score(model, scored, out=file, contamination=receipt, on_progress=advance)
        assert result is not None  # one process has the whole
        results.append(result)
    return results
