"""`barrow corpus classifier`: train a quality classifier, and see how a corpus scores with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import AsJson, OnBad, OnBadChoice, TextKey, open_archive, report_bad
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import print_table, printable
from barrow.files import local_path, write_bytes

if TYPE_CHECKING:
    from barrow.archive import Archive
    from barrow.corpus.classifier.report import ScoreReport
    from barrow.corpus.filters.texts import Texts

_PLACES = "A shard, a folder, a glob or a URL."


def train(
    positives: Annotated[
        str, typer.Argument(metavar="POSITIVES", help=f"Good text. {_PLACES}", show_default=False)
    ],
    negatives: Annotated[
        str,
        typer.Argument(metavar="NEGATIVES", help=f"Ordinary text. {_PLACES}", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option(metavar="MODEL.safetensors", help="The model.", show_default=False)
    ],
    limit: Annotated[
        int, typer.Option(min=1, help="Only so many documents of each side.")
    ] = 100_000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the documents.")] = 5,
    seed: Annotated[int, typer.Option(help="Decides choice, split and order.")] = 42,
    as_json: AsJson = False,
    text_key: TextKey = "text",
    on_bad: OnBad = OnBadChoice.RAISE,
) -> None:
    """Train a classifier of positives against negatives; print its measures on a test set."""
    import msgspec

    from barrow.corpus.classifier.model import save_classifier
    from barrow.corpus.classifier.report import model_card
    from barrow.corpus.classifier.training import TrainingSettings, read_examples
    from barrow.corpus.classifier.training import train as learn

    if local_path(out).suffix != ".safetensors":
        raise typer.BadParameter(f"--out is a .safetensors file, not {out}")
    settings = TrainingSettings(max_documents=limit, epochs=epochs, seed=seed)
    sides = []
    for source in (positives, negatives):
        archive = open_archive(source, text_key=text_key, on_bad=on_bad)
        with progress_bar("Reading", None) as advance:
            sides.append(read_examples(_texts(archive, advance), settings))
        report_bad(archive.bad)
    trained = learn(sides[0], sides[1], settings)
    saved = save_classifier(out, settings.classifier, trained.weights, trained.bias)
    sources = {"positives": [positives], "negatives": [negatives]}
    card = model_card(trained, settings, saved.sha256, sources)
    write_bytes(out.with_suffix(".json"), msgspec.json.format(msgspec.json.encode(card)) + b"\n")
    if as_json:
        typer.echo(msgspec.json.encode(card).decode())
        return
    _print_card(card)
    typer.echo(f"{out} and {out.with_suffix('.json')} written, sha256 {saved.sha256}")


def score(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="What train wrote.", show_default=False)
    ],
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help=_PLACES, show_default=False)],
    by: Annotated[str, typer.Option(help="Key of meta to group by; dots lead inwards.")] = (
        "pile_set_name"
    ),
    threshold: Annotated[float, typer.Option(min=0, max=1, help="Score of interest.")] = 0.5,
    alpha: Annotated[float, typer.Option(help="Of Pareto sampling.")] = 3.0,
    examples: Annotated[int, typer.Option(min=0, help="Documents to show.")] = 5,
    as_json: AsJson = False,
    text_key: TextKey = "text",
    on_bad: OnBad = OnBadChoice.RAISE,
) -> None:
    """Scores by domain: quantiles, what a threshold or sampling would keep, and examples."""
    import msgspec

    from barrow.corpus.classifier.model import load_classifier
    from barrow.corpus.classifier.report import score_corpus

    loaded = load_classifier(model)
    archive = open_archive(corpus, text_key=text_key, on_bad=on_bad)
    with progress_bar("Scoring", None) as advance:
        report = score_corpus(
            loaded,
            _texts(archive, advance),
            by=by,
            threshold=threshold,
            alpha=alpha,
            num_examples=examples,
        )
    if as_json:
        typer.echo(msgspec.json.encode(report.as_dict()).decode())
    else:
        _print_report(report, threshold, alpha)
    report_bad(archive.bad)


def _texts(archive: Archive, advance: Callable[[int], None]) -> Iterator[Texts]:
    from barrow.corpus.filters.texts import Texts
    from barrow.corpus.kernels.scratch import Scratch

    scratch = Scratch()
    for block in archive.blocks():
        yield Texts.of_block(block, scratch)
        advance(block.content_bytes)


def _print_card(card: dict[str, Any]) -> None:
    tested, learnt = card["test"], card["trained_on"]
    typer.echo(
        f"trained on {learnt['positives']:,} positives and {learnt['negatives']:,} negatives; "
        f"tested on {tested['positives']:,} and {tested['negatives']:,}"
    )
    typer.echo(f"AUC {tested['auc']:.4f}, accuracy {tested['accuracy']:.4f}")
    typer.echo("threshold  positives kept  negatives kept")
    for row in tested["thresholds"]:
        typer.echo(f"{row['threshold']:9}  {row['positives']:14.1%}  {row['negatives']:14.1%}")


def _print_report(report: ScoreReport, threshold: float, alpha: float) -> None:
    from barrow.corpus.classifier.report import QUANTILES

    quantiles = [f"{quantile:.0%}" for quantile in QUANTILES]
    figures = ("documents", "mean", *quantiles, f"≥ {threshold:g}", f"Pareto({alpha:g})")
    print_table(
        ("domain", *figures),
        (
            (
                row.domain,
                f"{row.documents:,}",
                f"{row.mean:.3f}",
                *(f"{value:.3f}" for value in row.quantiles),
                f"{row.above:.1%}",
                f"{row.sampled:.1%}",
            )
            for row in (*report.domains, report.total)
        ),
    )
    if report.examples:
        typer.echo(f"\nnearest to {threshold:g}:")
    for example in report.examples:
        place = " ".join(part for part in (example.domain, example.id) if part)
        typer.echo(f"{example.score:.3f}  {printable(place)}  {printable(example.beginning)}")
