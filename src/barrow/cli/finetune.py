"""`barrow finetune`: a pretrained encoder and labelled rows to a model that says labels."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.model.models import locate_model
from barrow.cli.terminal import warnings_in_words

if TYPE_CHECKING:
    from barrow.stream.labelled.examples import Keys, Kind

_INTERRUPTED = 130


class TaskChoice(StrEnum):
    """What is to be said of each row."""

    CLASSIFY = "classify"
    TAG = "tag"
    REGRESS = "regress"


class ScheduleChoice(StrEnum):
    """The learning rate after the warm-up."""

    LINEAR = "linear"
    COSINE = "cosine"
    CONSTANT = "constant"


class MetricChoice(StrEnum):
    """The measure that chooses the best epoch."""

    ACCURACY = "accuracy"
    F1 = "f1"
    MACRO_F1 = "macro_f1"
    ENTITY_F1 = "entity_f1"
    MATTHEWS = "matthews"
    PEARSON = "pearson"
    SPEARMAN = "spearman"
    MSE = "mse"
    LOSS = "loss"


LabelledArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A .jsonl, .csv or .tsv file, or an archive.",
        show_default=False,
    ),
]
TextKeyOption = Annotated[
    str | None,
    typer.Option(help="Key of the text, of tags that of the words.", show_default="text; tokens"),
]
LabelKeyOption = Annotated[
    str | None,
    typer.Option(help="Key of the label, of tags that of the tags.", show_default="label; tags"),
]
PairKeyOption = Annotated[str, typer.Option(help="Key of a second text, where rows have one.")]
MaxLengthOption = Annotated[
    int | None,
    typer.Option(help="Tokens of a row at most.", show_default="all that the model takes"),
]
TruncateOption = Annotated[
    bool, typer.Option("--truncate", help="Cut rows past that length; their number is printed.")
]


def finetune(
    data: LabelledArgument,
    task: Annotated[
        TaskChoice,
        typer.Option(
            help="A class of each text, a tag of each word, or a number.", show_default=False
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="A Hugging Face folder of RoBERTa, a run that trained one, or what `model get` "
            "fetched.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="RUN",
            help="The folder of the run; a run that was stopped there is resumed.",
            show_default=False,
        ),
    ],
    validation: Annotated[
        str, typer.Option(metavar="FILE|SHARE", help="Rows to judge by, or a share of DATA.")
    ] = "0.1",
    freeze: Annotated[
        str,
        typer.Option(help="Parts that stay as they are: embeddings,layers:0-3", show_default=False),
    ] = "",
    lr: Annotated[float, typer.Option(help="The highest learning rate.")] = 2e-5,
    lr_schedule: Annotated[
        ScheduleChoice, typer.Option(help="How the rate falls after the warm-up.")
    ] = ScheduleChoice.LINEAR,
    warmup: Annotated[float, typer.Option(help="The share of steps over which it rises.")] = 0.06,
    layer_decay: Annotated[
        float, typer.Option(help="Learning-rate factor per layer, from the top down.")
    ] = 1.0,
    weight_decay: Annotated[float, typer.Option(help="Decay of kernels and tables.")] = 0.1,
    epochs: Annotated[int, typer.Option(help="Times that all rows are learned from.")] = 3,
    batch: Annotated[int, typer.Option(help="Rows of a step.")] = 16,
    patience: Annotated[
        int | None,
        typer.Option(help="Epochs without a better one, to end early.", show_default="never"),
    ] = None,
    metric: Annotated[
        MetricChoice | None,
        typer.Option(
            help="The measure that chooses the best epoch.",
            show_default="accuracy; entity_f1 of BIO tags; pearson",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of head, dropout, order and share.")] = 0,
    text_key: TextKeyOption = None,
    label_key: LabelKeyOption = None,
    pair_key: PairKeyOption = "text_pair",
    max_length: MaxLengthOption = None,
    truncate: TruncateOption = False,
) -> None:
    """Fine-tune an encoder on labelled rows; the best epoch's model is kept."""
    from dataclasses import replace

    from barrow.models.roberta.labelled_rows import Limit
    from barrow.train import (
        Constant,
        Cosine,
        Interrupted,
        Linear,
        StepSettings,
        default_precision,
    )
    from barrow.train.finetune.finetune import FinetuneTask, finetune_run
    from barrow.train.finetune.finetune import finetune as run_it
    from barrow.train.finetune.settings import LabelledRows, Labels, usual_optimizer
    from barrow.train.trackers import terminal

    remember_programs()
    kinds = {"linear": Linear(end=0.0), "cosine": Cosine(end=0.0), "constant": Constant()}
    schedule = replace(kinds[lr_schedule.value], peak=lr, warmup=warmup)
    run = finetune_run(
        LabelledRows(
            data,
            task.value,
            _validation(validation),
            read_keys(task.value, text_key, label_key, pair_key),
            Limit(max_length, truncate),
            epochs,
            batch,
            seed,
        ),
        str(locate_model(model)),
        objective=Labels(
            tuple(word.strip() for word in freeze.split(",") if word.strip()),
            layer_decay,
            "" if metric is None else metric.value,
            patience,
        ),
        optimizer=replace(usual_optimizer(), schedule=schedule, weight_decay=weight_decay),
        step=StepSettings(precision=default_precision()),
        seed=seed,
    )
    run = replace(run, log_every=log_every(run.steps, epochs))
    found = FinetuneTask(run).data().rows
    for words, part in (("to learn from", found.train), ("to judge by", found.validation)):
        cut = f", {part.num_cut:,} truncated" if truncate else ""
        typer.echo(f"{len(part.rows):,} rows {words}{cut}", err=True)
    try:
        with warnings_in_words():
            done = run_it(run, out, trackers=[terminal(sys.stderr)])
    except Interrupted as stopped:
        typer.echo(str(stopped), err=True)
        raise typer.Exit(_INTERRUPTED) from None
    progress = done.progress
    typer.echo(f"best: epoch {progress.best_epoch} of {progress.epochs}, by {progress.metric}")
    print_metrics(done.metrics)
    typer.echo(
        f"Next: barrow model predict DATA --model {out}   (transformers opens {done.folder})"
    )


def log_every(steps: int, epochs: int) -> int:
    """Steps between two lines, so that they are at most 20 with those of the epochs."""
    return max(10, -(-steps // max(1, 16 - epochs)))


def read_keys(task: Kind, text: str | None, label: str | None, pair: str) -> Keys:
    """The keys that a verb's options name."""
    from barrow.stream.labelled.examples import TAG_KEYS, Keys

    usual = TAG_KEYS if task == "tag" else Keys()
    return Keys(usual.text if text is None else text, usual.label if label is None else label, pair)


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
