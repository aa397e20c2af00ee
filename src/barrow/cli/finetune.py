"""`barrow finetune`: a pretrained encoder and labelled rows to a model that predicts labels."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.model.models import locate_model
from barrow.cli.options import Overrides, Show, Trust, changes, print_keys
from barrow.files import local_path

_INTERRUPTED = 130
# Settings that are options.
_OPTIONS = {"data.path": "--train", "data.validation": "--validation", "data.kind": "--task"}


class TaskChoice(StrEnum):
    """What is predicted for each row."""

    CLASSIFY = "classify"
    TAG = "tag"
    REGRESS = "regress"


def finetune(
    task: Annotated[
        TaskChoice,
        typer.Option(
            help="A class of each text, a tag of each word, or a number.", show_default=False
        ),
    ],
    overrides: Overrides = None,
    train: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Training rows: a .jsonl, .csv or .tsv file, or an archive.",
            show_default=False,
        ),
    ] = "",
    validation: Annotated[
        str,
        typer.Option(metavar="FILE|SHARE", help="Validation rows, or a share of --train."),
    ] = "0.1",
    model: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="A Hugging Face folder of RoBERTa, a run that trained one, or what `model get` "
            "fetched.",
            show_default=False,
        ),
    ] = "",
    out: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="The folder of the run; a run that was stopped there is resumed.",
            show_default=False,
        ),
    ] = "",
    trust: Trust = None,
    show: Show = False,
) -> None:
    """Fine-tune an encoder on labelled rows; the best epoch's model is kept.

    --show lists every KEY of KEY=VALUE.
    """
    from dataclasses import replace

    from barrow import config
    from barrow.train import Interrupted, StepSettings, default_precision
    from barrow.train.finetune.finetune import FinetuneTask, finetune_run
    from barrow.train.finetune.finetune import finetune as run_it
    from barrow.train.finetune.settings import FinetuneSettings, LabelledRows
    from barrow.train.trackers import terminal

    rows = LabelledRows(train, task.value, _validation(validation))
    settings = config.override(
        FinetuneSettings(
            replace(rows, keys=rows.read_keys), step=StepSettings(precision=default_precision())
        ),
        changes(overrides, **_OPTIONS),
        trust=trust or (),
    )
    if show:
        print_keys(config.describe(settings), besides=_OPTIONS)
        return
    for option, given in (("--train FILE", train), ("--model DIR", model), ("--out RUN", out)):
        if not given:
            raise typer.BadParameter(f"pass {option}")
    folder = local_path(out)
    remember_programs()
    run = finetune_run(settings, str(locate_model(model)))
    found = FinetuneTask(run).data().rows
    for words, part in (("training", found.train), ("validation", found.validation)):
        cut = f", {part.num_cut:,} truncated" if settings.data.limit.truncate else ""
        typer.echo(f"{len(part.rows):,} {words} rows{cut}", err=True)
    try:
        done = run_it(run, folder, trackers=[terminal(sys.stderr)])
    except Interrupted as stopped:
        typer.echo(str(stopped), err=True)
        raise typer.Exit(_INTERRUPTED) from None
    progress = done.progress
    typer.echo(f"best: epoch {progress.best_epoch} of {progress.epochs}, by {progress.metric}")
    print_metrics(done.metrics)
    typer.echo(
        f"Next: barrow model predict DATA --model {out}   (transformers opens {done.folder})"
    )


def print_metrics(metrics: Mapping[str, float], *, err: bool = False) -> None:
    """A line for each measure."""
    for name, value in metrics.items():
        typer.echo(f"{name:>10}  {value:.4f}", err=err)


def remember_programs() -> Path:
    """Keep what is compiled for the next time, in this folder."""
    from barrow.models.compile_cache import keep_compiled
    from barrow.weights.hub.cache import cache_folder

    folder = cache_folder(os.environ) / "compiled"
    keep_compiled(folder)
    return folder


def _validation(given: str) -> str | float:
    try:
        return float(given)
    except ValueError:
        return given
